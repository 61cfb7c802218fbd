//===- IndexUses.h - Where integers number something -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_INDEXUSES_H
#define PASSES_ANALYSIS_INDEXUSES_H

#include "dialects/Interfaces/Indexing.h"

namespace mlir::dist {

/// What the integers of `use` number by its own op; none where they number
/// nothing.
std::optional<IndexUse> findIndexUse(OpOperand &use);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_INDEXUSES_H
