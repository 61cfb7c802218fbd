//===- tile_blocks.h - Blocks of products on tile registers -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AMX as Intel's Architecture Instruction Set Extensions reference has it: a
// tile is 16 rows of 64 bytes; TDPBF16PS adds, to 16x16 floats, the products of
// 16 rows of 32 bf16 of the left side with 16 rows of 16 pairs of the right
// one. A *step* is 32 terms of a sum, a *panel* 32 rows of the left side or 32
// columns of the right one over some steps: two tiles a step, one after the
// other, zeros where the matrix ends.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_TILE_BLOCKS_H
#define RUNTIME_DEVICE_CPU_TILE_BLOCKS_H

#include <cstdint>

namespace dist::cpu {

/// Terms of a step, and rows or columns of a panel.
constexpr int64_t tileWidth = 32;
constexpr int64_t tileBytes = 1024;
/// bf16 numbers of a panel's step.
constexpr int64_t stepElements = 2 * tileBytes / 2;

/// A matrix as it lies, strides in elements; one of them is 1. Of bf16, or of
/// floats that are rounded to that on their way.
struct TileSource {
  const void *data;
  int64_t rows, columns, rowStride, columnStride;
  bool wide = false;

  int64_t elementBytes() const { return wide ? 4 : 2; }
  const char *at(int64_t row, int64_t column) const {
    return static_cast<const char *>(data) +
           (row * rowStride + column * columnStride) * elementBytes();
  }
};

/// Packs `panels` panels from row `row` on, columns [begin, end), for the left
/// side; a panel's steps are `panelElements` behind those of the one before.
void packLeft(const TileSource &from, int64_t row, int64_t panels,
              int64_t begin, int64_t end, int64_t panelElements, uint16_t *to);
/// The same for the right side: panels from column `column` on, rows [begin,
/// end).
void packRight(const TileSource &from, int64_t column, int64_t panels,
               int64_t begin, int64_t end, int64_t panelElements, uint16_t *to);

/// Where the 32 rows of a left panel are: as packLeft left them, or in the
/// matrix itself.
struct LeftPanel {
  const char *data;
  int64_t rowBytes;  // 64 when packed
  int64_t halfBytes; // from row 0 to row 16
  int64_t stepBytes; // from a step to the next one
  const char *ahead; // rows to ask memory for, as many as a panel has; or null
};

/// sums[32 x 32] (+)= left x right over `steps`, for threads that have called
/// beginTiles(). The sums are four tiles, one after the other: rows 0 to 15 of
/// columns 0 to 15 and 16 to 31, then rows 16 to 31. `target`, if any, is where
/// storeSums will write soon: its 32 rows are fetched meanwhile.
void multiplyPanels(const LeftPanel &left, const uint16_t *right, int64_t steps,
                    bool add, float *sums, const char *target,
                    int64_t targetRowBytes);

/// Writes the first rows and columns of the sums, rounded to bf16 or as they
/// are; the stride is in elements.
void storeSums(const float *sums, int64_t rows, int64_t columns, uint16_t *to,
               int64_t rowStride);
void storeSums(const float *sums, int64_t rows, int64_t columns, float *to,
               int64_t rowStride);

void beginTiles();
void endTiles();

} // namespace dist::cpu

#endif // RUNTIME_DEVICE_CPU_TILE_BLOCKS_H
