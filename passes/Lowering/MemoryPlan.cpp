//===- MemoryPlan.cpp - Offsets from lifetimes -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/MemoryPlan.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::dist;

int64_t mlir::dist::planMemory(std::vector<MemoryBlock> &blocks) {
  std::vector<MemoryBlock *> order;
  for (MemoryBlock &block : blocks)
    order.push_back(&block);
  llvm::stable_sort(order, [](MemoryBlock *l, MemoryBlock *r) {
    return l->bytes > r->bytes;
  });
  std::vector<MemoryBlock *> placed; // by offset
  int64_t peak = 0;
  for (MemoryBlock *block : order) {
    int64_t bytes = alignMemory(block->bytes);
    int64_t offset = 0;
    for (MemoryBlock *other : placed) {
      if (other->last < block->first || block->last < other->first)
        continue;
      if (offset + bytes <= other->offset)
        break;
      offset = std::max(offset, other->offset + alignMemory(other->bytes));
    }
    block->offset = offset;
    peak = std::max(peak, offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), block,
                                   [](MemoryBlock *l, MemoryBlock *r) {
                                     return l->offset < r->offset;
                                   }),
                  block);
  }
  return peak;
}
