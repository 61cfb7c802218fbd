//===- stream.cpp - Pieces as one run of bytes ----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/schedule/stream.h"
#include "runtime/comm/schedule/parts.h"
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

void Stream::clear() {
  parts.clear();
  starts.clear();
  total = 0;
}

void Stream::reserve(int64_t count) {
  parts.reserve(count);
  starts.reserve(count);
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

Stream::PartEnd Stream::partEndAfter(int64_t offset) const {
  size_t i = firstAt(offset);
  if (i == parts.size())
    return {total, total};
  return {starts[i] + parts[i].size(),
          i + 1 < parts.size() ? starts[i + 1] : total};
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

void addPiecesTo(const Sequence<Piece> &pieces, void *const *buffers, int place,
                 int64_t first, int64_t last, Stream *stream) {
  for (int64_t i = first; i < last; ++i) {
    const Piece &p = pieces[i];
    stream->add({static_cast<char *>(buffers[i]) + place * p.from_place,
                 p.outer, p.rows, p.bytes, p.from_outer, p.from_row, i});
  }
}

void addPiecesFrom(const Sequence<Piece> &pieces, void *const *buffers,
                   int place, int64_t first, int64_t last, Stream *stream) {
  for (int64_t i = first; i < last; ++i) {
    const Piece &p = pieces[i];
    stream->add({static_cast<char *>(buffers[i]) + place * p.to_place, p.outer,
                 p.rows, p.bytes, p.to_outer, p.to_row, i});
  }
}

void addWholePieces(const Sequence<Piece> &pieces, void *const *buffers,
                    int64_t first, int64_t last, Stream *stream) {
  for (int64_t i = first; i < last; ++i) {
    const Piece &p = pieces[i];
    stream->add({static_cast<char *>(buffers[i]), 1, 1,
                 p.outer * p.rows * p.bytes, 0, 0, i});
  }
}

/// Small enough to stay in a cache while it is summed and sent on, and many
/// enough of a large part that one travels while another is summed.
static constexpr int64_t smallestSlice = 128 << 10, largestSlice = 512 << 10;

static int64_t sizeOfSlices(int64_t bytes) {
  int64_t quarter = (bytes / 4 + 63) & ~int64_t(63);
  return std::clamp(quarter, smallestSlice, largestSlice);
}

void Slices::cut(int64_t lo, int64_t hi) {
  cuts.clear();
  int64_t size = sizeOfSlices(hi - lo);
  do
    cuts.emplace_back(lo, std::min(hi, lo + size));
  while ((lo += size) < hi);
}

void Slices::cut(const Stream &stream, int64_t lo, int64_t hi) {
  cuts.clear();
  int64_t size = sizeOfSlices(hi - lo), at = lo;
  // The last two of a large part are one rather than unequal.
  int64_t most = size + size / 2;
  auto endAfter = [&](int64_t offset) {
    auto [end, next] = stream.partEndAfter(offset);
    return Stream::PartEnd{std::min(end, hi), std::min(next, hi)};
  };
  while (at < hi) {
    auto [end, next] = endAfter(at);
    if (end - at > most) {
      end = next = at + size;
    } else if (end - at < smallestSlice) {
      for (int64_t first = at; next < hi;) {
        Stream::PartEnd more = endAfter(next);
        if (more.end - next >= smallestSlice || more.end - first > size)
          break;
        end = more.end;
        next = more.next;
      }
    }
    if (end > at) // else `lo` is between two parts
      cuts.emplace_back(at, end);
    at = next;
  }
  if (cuts.empty())
    cuts.emplace_back(lo, lo);
}

int64_t Slices::most() const {
  int64_t result = 0;
  for (auto [lo, hi] : cuts)
    result = std::max(result, hi - lo);
  return result;
}

void Slices::cutParts(const Stream &stream, int first, int count, int size) {
  cut(stream, partOf(stream.size(), 1, first, size).first,
      partOf(stream.size(), 1, first + count - 1, size).second);
}

} // namespace dist::message
