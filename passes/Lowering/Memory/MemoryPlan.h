//===- MemoryPlan.h - Offsets from lifetimes -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_MEMORY_MEMORYPLAN_H
#define PASSES_LOWERING_MEMORY_MEMORYPLAN_H

#include "mlir/Support/LLVM.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mlir::dist {

/// One block of the arena: alive from the op that writes it first to the op
/// that reads it last, both included.
struct MemoryBlock {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
  std::string what; // which part of the peak it counts for
  int64_t offset = -1;
};

constexpr int64_t memoryAlignment = 64;
inline int64_t alignMemory(int64_t bytes) {
  return (bytes + memoryAlignment - 1) / memoryAlignment * memoryAlignment;
}

/// Sets the offsets; the arena's bytes come back. Large blocks are placed
/// first, each at the lowest offset free during its life.
int64_t planMemory(std::vector<MemoryBlock> &blocks);

} // namespace mlir::dist

#endif // PASSES_LOWERING_MEMORY_MEMORYPLAN_H
