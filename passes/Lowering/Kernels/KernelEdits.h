//===- KernelEdits.h - Kernels with other inputs and results ----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_KERNELS_KERNELEDITS_H
#define PASSES_LOWERING_KERNELS_KERNELEDITS_H

#include "dialects/Rt/IR/Rt.h"

namespace mlir::dist {

/// What the body gives, a value for each result.
ValueRange getYielded(rt::FusedOp kernel);

/// Who reads the value, looked at through reshapes.
void collectReaders(Value value, SmallVectorImpl<OpOperand *> &readers);

/// The kernel, in its old place, with results for more values of its body.
rt::FusedOp addResults(rt::FusedOp kernel, ArrayRef<Value> values);

/// The kernel without results that are not read, and without what only they
/// were made of; null if nothing is left.
rt::FusedOp dropUnread(rt::FusedOp kernel);

} // namespace mlir::dist

#endif // PASSES_LOWERING_KERNELS_KERNELEDITS_H
