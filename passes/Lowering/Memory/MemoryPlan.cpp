//===- MemoryPlan.cpp - Offsets from lifetimes -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of the blocks that are placed, those alive at a time leave gaps between them.
// Asking each placed block in turn takes quadratic time, and steps of 100,000
// ops have that many. Here a tree over time holds, for each of its nodes, the
// bytes that blocks take: a block is entered at the few nodes that make up its
// life (`whole`) and, as a part, at all nodes above these (`parts`). What is
// taken during a life is then the union of the lists of a few nodes. The lists
// hold merged ranges, and since blocks lie close together, few of them.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Memory/MemoryPlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <map>

using namespace mlir;
using namespace mlir::dist;

namespace {

/// A set of bytes as ranges [begin, end) that neither meet nor overlap.
class ByteSet {
public:
  void insert(int64_t begin, int64_t end) {
    auto next = ranges.upper_bound(begin);
    if (next != ranges.begin()) {
      auto before = std::prev(next);
      if (before->second >= end)
        return;
      if (before->second >= begin) {
        begin = before->first;
        next = ranges.erase(before);
      }
    }
    while (next != ranges.end() && next->first <= end) {
      end = std::max(end, next->second);
      next = ranges.erase(next);
    }
    ranges.emplace_hint(next, begin, end);
  }
  /// The least offset from `offset` on where `bytes` are free in this set.
  int64_t findFree(int64_t offset, int64_t bytes) const {
    auto next = ranges.upper_bound(offset);
    if (next != ranges.begin())
      offset = std::max(offset, std::prev(next)->second);
    for (; next != ranges.end() && next->first < offset + bytes; ++next)
      offset = next->second;
    return offset;
  }

  bool isEmpty() const { return ranges.empty(); }

private:
  std::map<int64_t, int64_t> ranges; // begin to end
};

/// Which bytes are taken when.
class Timeline {
public:
  explicit Timeline(size_t times)
      : leaves(llvm::PowerOf2Ceil(std::max<size_t>(times, 1))),
        whole(2 * leaves), parts(2 * leaves) {}

  void take(int64_t first, int64_t last, int64_t begin, int64_t end) {
    forEachNode(first, last, [&](size_t node) {
      whole[node].insert(begin, end);
      for (; node > 0; node /= 2)
        parts[node].insert(begin, end);
    });
  }
  /// The least offset at which `bytes` are free at all times of the life.
  int64_t findFree(int64_t first, int64_t last, int64_t bytes) const {
    SmallVector<const ByteSet *, 64> taken;
    forEachNode(first, last,
                [&](size_t node) { taken.push_back(&parts[node]); });
    // Blocks that live throughout a node above live here as well. The nodes
    // above those of a life are above its first time or above its last.
    size_t low = leaves + first, high = leaves + last;
    for (; low > 0; low /= 2, high /= 2) {
      taken.push_back(&whole[low]);
      if (high != low)
        taken.push_back(&whole[high]);
    }
    llvm::erase_if(taken, [](const ByteSet *set) { return set->isEmpty(); });
    int64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const ByteSet *set : taken) {
        int64_t free = set->findFree(offset, bytes);
        moved |= free != offset;
        offset = free;
      }
    }
    return offset;
  }

private:
  /// The largest nodes that together are the times from `first` to `last`.
  template <typename Visit>
  void forEachNode(int64_t first, int64_t last, Visit visit) const {
    size_t low = leaves + first, high = leaves + last + 1;
    for (; low < high; low /= 2, high /= 2) {
      if (low & 1)
        visit(low++);
      if (high & 1)
        visit(--high);
    }
  }

  size_t leaves;
  /// By node of a binary heap: node i has the children 2i and 2i + 1.
  std::vector<ByteSet> whole, parts;
};

} // namespace

int64_t mlir::dist::planMemory(std::vector<MemoryBlock> &blocks) {
  std::vector<MemoryBlock *> order;
  std::vector<int64_t> times;
  for (MemoryBlock &block : blocks) {
    order.push_back(&block);
    times.push_back(block.first);
    times.push_back(block.last);
  }
  llvm::stable_sort(order, [](MemoryBlock *l, MemoryBlock *r) {
    return l->bytes > r->bytes;
  });
  // Only the order of times matters.
  llvm::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  auto number = [&](int64_t time) {
    return llvm::lower_bound(times, time) - times.begin();
  };
  Timeline timeline(times.size());
  int64_t peak = 0;
  for (MemoryBlock *block : order) {
    int64_t bytes = alignMemory(block->bytes);
    int64_t first = number(block->first), last = number(block->last);
    block->offset = 0;
    if (bytes == 0)
      continue;
    block->offset = timeline.findFree(first, last, bytes);
    timeline.take(first, last, block->offset, block->offset + bytes);
    peak = std::max(peak, block->offset + bytes);
  }
  return peak;
}
