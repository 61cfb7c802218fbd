//===- SplitByCost.h - Variables split each by itself -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where no pattern of layers fits, a variable can still be split alone: what it
// is computed with is cut or gathered around it. Each has the dim that sends
// the fewest bytes for that, by the rules of the ops that compute with it.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_STRATEGY_SPLITBYCOST_H
#define PASSES_STRATEGY_SPLITBYCOST_H

#include "passes/Strategy/Annotate.h"

namespace mlir::dist {

struct SingleSplit {
  graph::VariableOp variable;
  unsigned dim = 0;
  /// Of each rank, and a step: bytes of the variable, and in training of its
  /// gradient, that it does not keep; and bytes that it sends.
  double saved = 0, sent = 0;

  bool isWorthwhile() const { return saved >= sent; }
};

/// The variables of two dims or more that ops of `entry` contract with or look
/// up in, each with its cheapest split over an axis of `parts`, in program
/// order: those that are worthwhile, or if none is, the one that comes nearest.
/// Empty: none can be split.
SmallVector<SingleSplit> findSingleSplits(func::FuncOp entry,
                                          const VariableTable &table,
                                          int64_t parts, bool mayPad);

} // namespace mlir::dist

#endif // PASSES_STRATEGY_SPLITBYCOST_H
