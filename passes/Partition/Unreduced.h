//===- Unreduced.h - Who makes, passes on, and must not see partial sums --===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_UNREDUCED_H
#define PASSES_PARTITION_UNREDUCED_H

#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Partition/FactorSharding.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace mlir::dist {

/// What an op does about partial values over one axis.
struct UnreducedEffect {
  /// Its result is a partial value over the axis.
  bool partial = false;
  /// How the partial values combine.
  Reduction kind = Reduction::Sum;
  /// The op takes unreduced operands as if they were whole: wrong.
  bool misuse = false;
  /// The linear set by which unreduced operands pass, if they do.
  std::optional<unsigned> linearSet;
  /// Operands of a linear set that would have to be unreduced as well for the
  /// op to pass its other operands on.
  SmallVector<unsigned> missing;
};

/// The effect of `op` when `isUnreduced` tells which operands are sums over
/// `axis`. Zero constants count as either.
UnreducedEffect getUnreducedEffect(Operation *op, StringAttr axis, MeshOp mesh,
                                   llvm::function_ref<bool(Value)> isUnreduced);

/// Whether the op reads elements of the operand: else it takes a partial one.
bool readsElements(OpOperand &use);

} // namespace mlir::dist

#endif // PASSES_PARTITION_UNREDUCED_H
