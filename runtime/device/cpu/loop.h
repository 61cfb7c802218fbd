//===- loop.h - A loop cut into ranges --------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_LOOP_H
#define RUNTIME_DEVICE_CPU_LOOP_H

#include "runtime/abi/abi.h"
#include <algorithm>

namespace dist::cpu {

/// kernel(buffers, lo, hi, chunk) over [0, n) in `chunks` contiguous ranges,
/// which any thread may run in any order.
struct Loop {
  dist_rt_kernel kernel = nullptr;
  void **buffers = nullptr;
  int64_t n = 0;
  int32_t chunks = 0;

  // The first n % chunks ranges are one longer.
  void run(int64_t chunk) const {
    int64_t size = n / chunks, rest = n % chunks;
    int64_t lo = chunk * size + std::min<int64_t>(chunk, rest);
    kernel(buffers, lo, lo + size + (chunk < rest), chunk);
  }
};

} // namespace dist::cpu

#endif // RUNTIME_DEVICE_CPU_LOOP_H
