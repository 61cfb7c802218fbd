//===- VariableUpdates.h - What updates each variable -----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameter servers each have some of the variables, or some of their rows: a
// server can apply gradients where the update of a variable reads nothing of
// another, and of some rows where it reads nothing of other rows.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_VARIABLEUPDATES_H
#define PASSES_ANALYSIS_VARIABLEUPDATES_H

#include "dialects/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

/// The part of @apply that updates one variable and its slots.
struct VariableUpdate {
  graph::VariableOp variable;
  /// Arguments of @apply: the gradient, and the variable with its slots.
  unsigned gradient = 0;
  SmallVector<unsigned> state;
  /// Results of @apply.
  SmallVector<unsigned> results;
  /// What the results are computed by, in order.
  SmallVector<Operation *> ops;
  /// The values of these ops, and the arguments, that have the variable's rows
  /// as dim 0.
  DenseSet<Value> rows;
  /// Whether each row of the results is of that row of the arguments alone.
  bool isByRow = false;
};

/// Of all variables that @apply has gradients (or new values) of, in their
/// order, and what is no variable's own.
struct VariableUpdates {
  std::vector<VariableUpdate> variables;
  /// Arguments and results that are not among them: the step counter, the
  /// learning rate; and the ops that depend on none of the variables.
  SmallVector<unsigned> sharedArguments, sharedResults;
  DenseSet<Operation *> sharedOps;
};

/// Fails with an error if one variable's update reads another, or if something
/// else is computed from several.
FailureOr<VariableUpdates> findUpdates(func::FuncOp apply);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_VARIABLEUPDATES_H
