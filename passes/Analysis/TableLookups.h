//===- TableLookups.h - Tables of which a step reads rows -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step that reads of a table nothing but the rows that an input numbers gives
// a gradient of zeros in all others. Then it can be computed with these rows
// alone: the lookups, the sums into the gradient, and what computes with the
// gradient row by row, or adds its rows up.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_TABLELOOKUPS_H
#define PASSES_ANALYSIS_TABLELOOKUPS_H

#include "dialects/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dist {

struct TableLookups {
  BlockArgument table;
  /// Inputs of integers that are the numbers of the rows, and how many they are
  /// together.
  llvm::SetVector<BlockArgument> inputs;
  int64_t count = 0;
  SmallVector<graph::GatherOp> gathers;
  /// Sums of updates into tables of zeros.
  SmallVector<graph::ScatterAddOp> sums;
  /// What computes with these sums, in order.
  SmallVector<Operation *> ops;
  /// Values of theirs, and the sums, that have a row for each of the table's.
  DenseSet<Value> rows;
  /// Operands of theirs of which all rows are alike: constants of one number,
  /// and ops that no operand gives rows.
  DenseSet<Value> alike;
};

/// The lookups of a table by which result `gradient` is its gradient; none
/// where the function reads it otherwise, or its gradient. `why` says what
/// does, where there is a lookup at all.
std::optional<TableLookups> findTableLookups(func::FuncOp function,
                                             BlockArgument table,
                                             unsigned gradient,
                                             std::string *why);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_TABLELOOKUPS_H
