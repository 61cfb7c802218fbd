//===- Widening.h - Contractions of narrow floats in f32 --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_LIBRARY_WIDENING_H
#define PASSES_LOWERING_LIBRARY_WIDENING_H

#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// Whether the elements are bf16 or f16.
bool isNarrow(Type type);

/// Computes the op, of one result of bf16 or f16, in f32: its operands are
/// converted before, its result behind.
void widenContraction(Operation *op);

} // namespace mlir::dist

#endif // PASSES_LOWERING_LIBRARY_WIDENING_H
