//===- KernelEmitter.h - Loops of a kernel -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_KERNELS_KERNELEMITTER_H
#define PASSES_LOWERING_KERNELS_KERNELEMITTER_H

#include "passes/Lowering/Passes.h"

namespace mlir::dist {

/// Terms of a sum from which on it is made of sums of blocks. In shorter ones
/// rounding adds up to less than what it saves is worth.
constexpr int64_t kLongSumTerms = 2048;

/// Where a kernel reads and writes, and its range of rows.
struct KernelBuffers {
  SmallVector<Value> inputs, outputs;
  Value lo, hi, chunk;
};

/// Builds, at the builder's place, a private function over memrefs (inputs,
/// then outputs) and three index values (first row, end, chunk) that computes
/// the kernel's body. i1 tensors are memrefs of i8.
FailureOr<func::FuncOp> emitKernel(rt::KernelOp kernel, OpBuilder &builder);

} // namespace mlir::dist

#endif // PASSES_LOWERING_KERNELS_KERNELEMITTER_H
