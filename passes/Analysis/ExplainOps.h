//===- ExplainOps.h - An entry's ops, for pages that draw them -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_EXPLAINOPS_H
#define PASSES_ANALYSIS_EXPLAINOPS_H

#include "passes/Analysis/Explain.h"
#include "passes/Analysis/Timeline.h"

namespace mlir::dist {

/// The ops of a function in their order, but for constants: when they run, and
/// what is live then.
std::vector<OpDetail> listOps(func::FuncOp function,
                              const ProgramTimeline &timeline);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_EXPLAINOPS_H
