//===- KernelReference.h - What kernels have to compute -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels over tensors (rt.fused, rt.library) evaluated by their meaning, so
// that a program is evaluated after its ops have become kernels: what the
// kernels as they were compiled are compared with.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_CHECK_KERNELREFERENCE_H
#define PASSES_LOWERING_CHECK_KERNELREFERENCE_H

#include "mlir/IR/Value.h"

namespace mlir::dist {

/// Gives the kernels' ops ReferenceOpInterface.
void registerKernelReferences(MLIRContext &context);

/// Whether the value has a layout of the kernels' own (a packed filter, the
/// factors and sums of Winograd, scratch): the evaluator keeps in it what it
/// stands for, which is no value of the kernel's.
bool hasKernelLayout(Value value);

} // namespace mlir::dist

#endif // PASSES_LOWERING_CHECK_KERNELREFERENCE_H
