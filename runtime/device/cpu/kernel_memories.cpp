//===- kernel_memories.cpp - Memories of library kernels ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/kernel_memories.h"
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace dist::cpu {

bool fitsMemory(const manifest::LibraryKernel::Memory &memory) {
  constexpr int64_t most = int64_t(1) << 48;
  int64_t extent = 1, elements = 1;
  for (int d = 0; d < memory.dims_size(); ++d) {
    int64_t dim = memory.dims(d), step = 0;
    if (__builtin_mul_overflow(elements, dim, &elements) || elements > most)
      return false;
    if (memory.strides_size() == 0)
      continue;
    if (memory.strides(d) < 0 ||
        __builtin_mul_overflow(dim - 1, memory.strides(d), &step) ||
        __builtin_add_overflow(extent, step, &extent) || extent > most)
      return false;
  }
  return true;
}

bool overlaps(const manifest::LibraryKernel::Memory &memory) {
  std::vector<std::pair<int64_t, int64_t>> steps; // strides and dims
  for (int d = 0; d < memory.strides_size(); ++d)
    if (memory.dims(d) > 1)
      steps.emplace_back(memory.strides(d), memory.dims(d));
  std::sort(steps.begin(), steps.end());
  int64_t reach = 0;
  for (auto [stride, dim] : steps) {
    if (stride <= reach)
      return true;
    reach += stride * (dim - 1);
  }
  return false;
}

} // namespace dist::cpu
