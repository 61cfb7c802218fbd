//===- IndexUses.h - Where integers index a dim -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_INDEXUSES_H
#define PASSES_ANALYSIS_INDEXUSES_H

#include "mlir/IR/Value.h"

namespace mlir::dist {

/// Size of the dim that `use` indexes (of the whole table, where an op has a
/// part of its rows); 0 where it is no index.
int64_t getIndexedSize(OpOperand &use);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_INDEXUSES_H
