//===- stream.cpp - Pieces as one run of bytes ----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/message/stream.h"
#include "runtime/comm/common/description.h"
#include <cstring>

namespace dist::message {

void Stream::add(const Part &part) {
  if (part.size() == 0)
    return;
  Part kept = part;
  // Blocks that follow each other are one.
  if (kept.rows == 1 || kept.rowStride == kept.bytes) {
    kept.bytes *= kept.rows;
    kept.rows = 1;
    if (kept.outer == 1 || kept.outerStride == kept.bytes) {
      kept.bytes *= kept.outer;
      kept.outer = 1;
    }
  }
  starts.push_back(total);
  parts.push_back(kept);
  total += alignPacked(kept.size());
}

size_t Stream::firstAt(int64_t offset) const {
  size_t next =
      std::upper_bound(starts.begin(), starts.end(), offset) - starts.begin();
  return next ? next - 1 : 0;
}

char *Stream::findRun(int64_t lo, int64_t hi) const {
  char *run = nullptr;
  int64_t covered = 0;
  bool whole = true;
  walk(lo, hi, [&](int64_t, char *at, int64_t, int64_t bytes) {
    if (covered == 0)
      run = at;
    whole &= run + covered == at;
    covered += bytes;
  });
  return whole && covered == hi - lo ? run : nullptr;
}

void Stream::gather(int64_t lo, int64_t hi, char *to) const {
  walk(lo, hi, [&](int64_t, char *at, int64_t offset, int64_t bytes) {
    std::memcpy(to + (offset - lo), at, bytes);
  });
}

void Stream::scatter(int64_t lo, int64_t hi, const char *from) const {
  walk(lo, hi, [&](int64_t, char *at, int64_t offset, int64_t bytes) {
    std::memcpy(at, from + (offset - lo), bytes);
  });
}

/// Small enough to stay in a cache while it is summed and sent on, and many
/// enough of a large part that one travels while another is summed.
static constexpr int64_t smallestSlice = 128 << 10, largestSlice = 512 << 10;

Slices::Slices(int64_t lo, int64_t hi) : lo(lo), hi(hi) {
  int64_t quarter = ((hi - lo) / 4 + 63) & ~int64_t(63);
  size = std::clamp(quarter, smallestSlice, largestSlice);
}

Slices partOfBytes(int64_t bytes, int index, int size) {
  auto [lo, hi] = partOf(bytes, 1, index, size);
  return Slices(lo, hi);
}

} // namespace dist::message
