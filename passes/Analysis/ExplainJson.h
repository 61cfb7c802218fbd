//===- ExplainJson.h - Parts of an explanation as JSON -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_EXPLAINJSON_H
#define PASSES_ANALYSIS_EXPLAINJSON_H

#include "passes/Analysis/Explain.h"
#include "llvm/Support/JSON.h"

namespace mlir::dist {

/// The chains of a transfer's main causes, each from its decision on.
llvm::json::Array formatChains(const ExplainReport &report,
                               const TransferRow &row);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_EXPLAINJSON_H
