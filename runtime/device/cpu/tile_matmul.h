//===- tile_matmul.h - Products of bf16 on tile registers -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Training multiplies what has just been computed: weights change each step,
// activations are read once. Where the registers multiply sixteen times as fast
// as vectors, a product takes as long as bringing its sides into their layout;
// this one packs each side once, in its caches, whichever way it lies. The same
// bits for any number of threads: the order of a sum does not depend on them.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_TILE_MATMUL_H
#define RUNTIME_DEVICE_CPU_TILE_MATMUL_H

#include "runtime/core/manifest.pb.h"
#include "runtime/device/cpu/tile_blocks.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace dist::cpu {

class TileMatmul {
public:
  static constexpr const char *name = "tiles:amx_bf16";

  /// The product as this CPU's tiles compute it; nothing where it has none, or
  /// where the description wants what they do not do, or is too small for them.
  static std::optional<TileMatmul> create(const manifest::LibraryKernel &spec,
                                          int threads);

  int64_t scratchpadBytes() const { return chunks * chunkBytes; }
  /// left, right, result and, last, the scratchpad.
  void run(void *const *buffers) const;

private:
  struct Side {
    int64_t rowStride, columnStride;
    std::vector<int64_t> batchStrides;
    bool wide = false; // of f32
  };
  enum class Split { Batch, Rows, Columns };
  /// What one thread computes, and a part of that.
  struct Share;
  struct Block;

  TileMatmul() = default;
  void choose(int threads);
  void runChunk(void *const *buffers, int64_t chunk) const;
  void multiply(const Share &share) const;
  void multiply(const Share &share, const Block &block, const uint16_t *right,
                int64_t rightElements) const;
  LeftPanel getLeft(const Share &share, const Block &block, int64_t row) const;
  void store(const Share &share, const float *sums, int64_t row,
             int64_t column) const;
  static void runChunks(void **buffers, int64_t lo, int64_t hi, int64_t chunk);

  int64_t m, n, k;
  std::vector<int64_t> batch;
  int64_t products = 1;
  Side left, right, result;

  Split split = Split::Columns;
  int64_t chunks = 1, chunkBytes = 0;
  /// Of a chunk's scratchpad: the packed sides; sums are behind them.
  int64_t leftBytes = 0, rightBytes = 0;
  /// The most rows and columns of a thread.
  int64_t shareRows = 0, shareColumns = 0;
  /// Left sides that lie by rows are read as they are.
  bool packsLeft = false;
  /// Terms of a sum, up to the end of the last step.
  int64_t wholeDepth = 0;
  /// Of a sum, of the left side and of the right side at a time.
  int64_t depth = 0, blockRows = 0, blockColumns = 0;
  /// A block's sums are kept until all their terms are added.
  bool keepsSums = false;
  /// The right side is packed once, not again for each block of rows.
  bool packsRightOnce = false;
};

} // namespace dist::cpu

#endif // RUNTIME_DEVICE_CPU_TILE_MATMUL_H
