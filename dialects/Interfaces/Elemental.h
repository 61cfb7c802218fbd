//===- Elemental.h - Scalar code of one element -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_ELEMENTAL_H
#define DIALECTS_INTERFACES_ELEMENTAL_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::dist {

/// Gives one element of operand `operand` at `indices`, in its compute type.
using ElementLoader =
    llvm::function_ref<Value(unsigned operand, ValueRange indices)>;

/// Whether the op says how one element is computed, or one row; not for null.
bool isElemental(Operation *op);

/// The scalar type in which elements of `elementType` are computed: f16 and
/// bf16 in f32; integers signless of the same width. Of a vector, here and
/// below, a vector.
Type getComputeType(Type elementType);

/// The type of an element in memory: itself; for integers and bf16, bits.
Type getStorageType(Type elementType);

/// Storage to compute type (a load's value) and back (before a store).
Value emitToCompute(OpBuilder &builder, Location loc, Value stored,
                    Type elementType);
Value emitToStorage(OpBuilder &builder, Location loc, Value computed,
                    Type elementType);

} // namespace mlir::dist

#include "dialects/Interfaces/Elemental.h.inc"

#endif // DIALECTS_INTERFACES_ELEMENTAL_H
