//===- memory_plan_test.cpp - Offsets of blocks by their lifetimes --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Memory/MemoryPlan.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir::dist;

namespace {

/// The contract, word by word: large blocks first, each at the lowest offset
/// that is free during its life.
int64_t planPlainly(std::vector<MemoryBlock> &blocks) {
  std::vector<MemoryBlock *> order;
  for (MemoryBlock &block : blocks)
    order.push_back(&block);
  llvm::stable_sort(order,
                    [](auto *l, auto *r) { return l->bytes > r->bytes; });
  int64_t peak = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    int64_t bytes = alignMemory(order[i]->bytes), offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t j = 0; j < i; ++j) {
        int64_t end = order[j]->offset + alignMemory(order[j]->bytes);
        bool together = order[j]->first <= order[i]->last &&
                        order[i]->first <= order[j]->last;
        if (together && order[j]->offset < offset + bytes && offset < end) {
          offset = end;
          moved = true;
        }
      }
    }
    order[i]->offset = offset;
    peak = std::max(peak, offset + bytes);
  }
  return peak;
}

TEST(MemoryPlan, IsThePlainOneOnRandomLives) {
  std::mt19937 random(1);
  auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
  for (int round = 0; round < 300; ++round) {
    std::vector<MemoryBlock> blocks(1 + below(60));
    int64_t times = 1 + below(80), sizes = 1 + below(2000);
    for (MemoryBlock &block : blocks) {
      block.bytes = below(8) ? below(sizes) : 0;
      block.first = below(times) - 1;
      block.last = block.first + below(below(3) ? 5 : times);
    }
    std::vector<MemoryBlock> plain = blocks;
    EXPECT_EQ(planMemory(blocks), planPlainly(plain));
    for (auto [ours, theirs] : llvm::zip_equal(blocks, plain))
      EXPECT_EQ(ours.offset, theirs.offset) << "round " << round;
  }
}

TEST(MemoryPlan, OfNothing) {
  std::vector<MemoryBlock> none;
  EXPECT_EQ(planMemory(none), 0);
}

} // namespace
