//===- UpdateSlice.h - Where a variable's update begins -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An optimizer's update of a variable is element-wise in the variable, its
// slots and its gradient. To shard updates, a pass must know where the
// gradient enters, and which uses of the variable are the update's own.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_STRATEGY_UPDATESLICE_H
#define PASSES_STRATEGY_UPDATESLICE_H

#include "passes/Strategy/Annotate.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::dist {

/// The element-wise ops between a variable's (and its slots') old and new
/// values in one entry.
class UpdateSlice {
public:
  /// `state` are the variable and what `slot_of` binds to it.
  UpdateSlice(func::FuncOp entry, ArrayRef<graph::VariableOp> state,
              const VariableTable &table);

  /// Whether the entry gives a new value of one of them.
  bool isEmpty() const { return ops.empty(); }
  bool contains(Operation *op) const { return ops.contains(op); }
  /// The gradient: the first value that sums all that enters the slice from
  /// outside, accumulators included; null if nothing does.
  Value getGradient() const { return gradient; }

private:
  void findGradient();

  func::FuncOp entry;
  llvm::SmallPtrSet<Operation *, 16> ops;
  /// Values from outside the slice: what backward ops or accumulators give.
  SetVector<Value> entering;
  Value gradient;
};

} // namespace mlir::dist

#endif // PASSES_STRATEGY_UPDATESLICE_H
