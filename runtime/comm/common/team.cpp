//===- team.cpp - A rank's work, with its device's team -------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/common/team.h"
#include <algorithm>
#include <cstring>

namespace dist {

/// A team helps when its threads get at least this much each.
static constexpr int64_t bytesPerThread = 64 << 10;

int64_t Team::countChunks(int64_t bytes) const {
  if (!options.parallelFor || inBackground)
    return 1;
  return std::min<int64_t>(options.threadsPerRank, bytes / bytesPerThread);
}

namespace {
struct ReduceJob {
  ReduceFn reduce;
  const void *const *from;
  int numFrom;
  void *const *to;
  int numTo;
  int64_t lo;
};

struct CopyJob {
  const Piece *piece; // null: bytes as they lie
  const char *from;
  char *to;
};
} // namespace

static void runReduceJob(void **buffers, int64_t lo, int64_t hi, int64_t) {
  const ReduceJob &job = *reinterpret_cast<const ReduceJob *>(buffers);
  job.reduce(job.from, job.numFrom, job.to, job.numTo, job.lo + lo,
             job.lo + hi);
}

static void runCopyJob(void **buffers, int64_t lo, int64_t hi, int64_t) {
  const CopyJob &job = *reinterpret_cast<const CopyJob *>(buffers);
  if (job.piece)
    copyBlocks(*job.piece, job.from, job.to, lo, hi);
  else if (lo < hi)
    std::memcpy(job.to + lo, job.from + lo, hi - lo);
}

void Team::reduce(ReduceFn fn, const void *const *from, int numFrom,
                  void *const *to, int numTo, int64_t lo, int64_t hi,
                  int64_t elementBytes) const {
  int64_t chunks = countChunks((hi - lo) * elementBytes);
  if (chunks < 2) {
    fn(from, numFrom, to, numTo, lo, hi);
    return;
  }
  ReduceJob job{fn, from, numFrom, to, numTo, lo};
  options.parallelFor(runReduceJob, reinterpret_cast<void **>(&job), hi - lo,
                      chunks);
}

void Team::copy(const void *from, void *to, int64_t lo, int64_t hi) const {
  CopyJob job{nullptr, static_cast<const char *>(from) + lo,
              static_cast<char *>(to) + lo};
  int64_t chunks = countChunks(hi - lo);
  if (chunks < 2)
    runCopyJob(reinterpret_cast<void **>(&job), 0, hi - lo, 0);
  else
    options.parallelFor(runCopyJob, reinterpret_cast<void **>(&job), hi - lo,
                        chunks);
}

void Team::pull(const Piece &piece, const void *from, int64_t me, void *to,
                int64_t peer) const {
  const char *source = static_cast<const char *>(from) + me * piece.from_place;
  char *target = static_cast<char *>(to) + peer * piece.to_place;
  int64_t blocks = piece.outer * piece.rows;
  if (source == target || blocks * piece.bytes == 0)
    return;
  if (blocks == 1) { // cut by bytes, not by blocks
    copy(source, target, 0, piece.bytes);
    return;
  }
  int64_t chunks = countChunks(blocks * piece.bytes);
  if (chunks < 2) {
    copyBlocks(piece, source, target, 0, blocks);
    return;
  }
  CopyJob job{&piece, source, target};
  options.parallelFor(runCopyJob, reinterpret_cast<void **>(&job), blocks,
                      chunks);
}

} // namespace dist
