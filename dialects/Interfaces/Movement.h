//===- Movement.h - Ops that only move elements -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_MOVEMENT_H
#define DIALECTS_INTERFACES_MOVEMENT_H

#include "mlir/IR/OpDefinition.h"
#include <optional>

namespace mlir::dist {

/// Where the elements of a result come from.
enum class Movement {
  /// Each follows from its index: one number everywhere, or a count.
  Generate,
  /// A constant that lies in memory.
  Load,
  /// Operand 0's, in its order: the same bytes under another shape.
  View,
  /// Operand 0 itself; the op says when it may be read.
  Order,
  /// Some of operand 0's several times, in its order.
  Repeat,
  /// Operand 0's, in another order of its dims.
  Permute,
  /// Some of operand 0's, at positions known when compiling.
  Slice,
  /// Some of operand 0's, at positions that other operands hold.
  Select,
};

/// None where the op computes elements.
std::optional<Movement> findMovement(Operation *op);

/// Whether the result lies where operand 0 does: no code, no memory.
bool isAlias(Operation *op);
/// Whether every kernel that reads the result may have the op in it: it takes
/// no instruction of its own there.
bool isFreeToRepeat(Operation *op);
/// Whether each element is one of operand 0's, and no other operand is asked
/// which: what holds for all elements of the operand holds for the result.
bool keepsElements(Operation *op);
/// Whether no more of operand 0 is read than the result has.
bool readsPart(Operation *op);

} // namespace mlir::dist

#include "dialects/Interfaces/Movement.h.inc"

#endif // DIALECTS_INTERFACES_MOVEMENT_H
