//===- relu.cpp - A ReLU behind library kernels that keeps NaN ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/relu.h"
#include "runtime/device/cpu/team.h"
#include <algorithm>
#include <atomic>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace dist::cpu {

bool takeInvalid() {
#if defined(__x86_64__)
  std::atomic<bool> found{false};
  onEachThread(
      [](void *data) {
        unsigned flags = _mm_getcsr();
        if (!(flags & _MM_EXCEPT_INVALID))
          return;
        _mm_setcsr(flags & ~_MM_EXCEPT_INVALID);
        static_cast<std::atomic<bool> *>(data)->store(true);
      },
      &found);
  return found;
#else
  return false;
#endif
}

namespace {

/// Elements that one call handles: some microseconds' work.
constexpr int64_t blockSize = 4096;
/// Blocks from which threads share the work.
constexpr int64_t parallelBlocks = 16;

bool rectify(float *x, int64_t count) {
  int nans = 0;
  for (int64_t i = 0; i < count; ++i) {
    nans |= x[i] != x[i];
    // Of -0, too, as the library's own: which of the two runs must not show.
    x[i] = x[i] <= 0 ? 0 : x[i];
  }
  return nans != 0;
}

/// Of two-byte floats, by their bits: negative numbers are those from the sign
/// alone up to -infinity, NaNs what lies above the infinities.
template <uint16_t infinity> bool rectify(uint16_t *x, int64_t count) {
  constexpr uint16_t sign = 0x8000;
  int nans = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint16_t bits = x[i];
    nans |= (bits & 0x7fff) > infinity;
    x[i] = bits >= sign && bits <= (sign | infinity) ? 0 : bits;
  }
  return nans != 0;
}

} // namespace

ReluInPlace::ReluInPlace(DataType type, const std::vector<int64_t> &dims,
                         const std::vector<int64_t> &strides)
    : type(type) {
  std::vector<Dim> sorted;
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] > 1)
      sorted.push_back({dims[d], strides[d]});
  std::sort(sorted.begin(), sorted.end(),
            [](const Dim &a, const Dim &b) { return a.stride < b.stride; });
  runSize = 1;
  size_t next = 0;
  while (next < sorted.size() && sorted[next].stride == runSize)
    runSize *= sorted[next++].size;
  outer.assign(sorted.begin() + next, sorted.end());
  blocksPerRun = (runSize + blockSize - 1) / blockSize;
  numBlocks = blocksPerRun;
  for (const Dim &dim : outer)
    numBlocks *= dim.size;
}

void ReluInPlace::runBlocks(void *data, int64_t first, int64_t last,
                            bool *foundNan) const {
  for (int64_t block = first; block < last; ++block) {
    int64_t begin = block % blocksPerRun * blockSize;
    int64_t count = std::min(blockSize, runSize - begin);
    int64_t at = begin, rest = block / blocksPerRun;
    for (const Dim &dim : outer) {
      at += rest % dim.size * dim.stride;
      rest /= dim.size;
    }
    bool nan;
    if (type == manifest::F32)
      nan = rectify(static_cast<float *>(data) + at, count);
    else if (type == manifest::BF16)
      nan = rectify<0x7f80>(static_cast<uint16_t *>(data) + at, count);
    else
      nan = rectify<0x7c00>(static_cast<uint16_t *>(data) + at, count);
    *foundNan |= nan;
  }
}

bool ReluInPlace::run(void *data) const {
  bool foundNan = false;
  if (numBlocks < parallelBlocks) {
    runBlocks(data, 0, numBlocks, &foundNan);
    return foundNan;
  }
  std::atomic<bool> anyNan{false};
  void *buffers[] = {const_cast<ReluInPlace *>(this), data, &anyNan};
  parallelFor(
      [](void **buffers, int64_t first, int64_t last, int64_t) {
        bool nan = false;
        static_cast<const ReluInPlace *>(buffers[0])
            ->runBlocks(buffers[1], first, last, &nan);
        if (nan)
          static_cast<std::atomic<bool> *>(buffers[2])->store(true);
      },
      buffers, numBlocks, int32_t(parallelBlocks));
  return anyNan;
}

} // namespace dist::cpu
