//===- relu.h - A ReLU behind library kernels that keeps NaN ----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ReLU that oneDNN fuses into its kernels is MAXPS(x, 0), which makes 0 of
// NaN, though NaN wins everywhere (dialects/Graph/IR/GraphBase.td, Numbers): a
// network trained on NaN would seem to learn. None of the library's
// post-ops gives max(x, 0) that keeps NaN and maps -inf to 0. But MAXPS raises
// the sticky flag "invalid" where it meets a NaN, quiet ones too (Intel SDM,
// "Invalid (including QNaN Source Operand)"), and nothing else in a product or
// convolution of numbers does. So the fused kernel runs first, at full speed,
// and only where a thread has that flag up, the plain kernel runs again with
// the ReLU here behind it.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_RELU_H
#define RUNTIME_DEVICE_CPU_RELU_H

#include "runtime/core/types.h"
#include <cstdint>
#include <vector>

namespace dist::cpu {

/// Whether "invalid" is up on any thread of the calling thread's team; clears
/// it on all. False on machines without that flag.
bool takeInvalid();

/// max(x, 0) over a tensor in place; NaN stays NaN, and the sign of a zero that
/// comes in is free.
class ReluInPlace {
public:
  ReluInPlace() = default;
  /// `type` is f32, bf16 or f16; strides are in elements, of no two elements in
  /// one place.
  ReluInPlace(DataType type, const std::vector<int64_t> &dims,
              const std::vector<int64_t> &strides);

  /// On the calling thread's team where that is worth it. Returns whether an
  /// element is NaN.
  bool run(void *data) const;

private:
  struct Dim {
    int64_t size, stride;
  };
  void runBlocks(void *data, int64_t first, int64_t last, bool *foundNan) const;

  DataType type{};
  std::vector<Dim> outer; // without the innermost run of neighbours
  int64_t runSize = 0;    // elements of that run
  int64_t blocksPerRun = 0, numBlocks = 0;
};

} // namespace dist::cpu

#endif // RUNTIME_DEVICE_CPU_RELU_H
