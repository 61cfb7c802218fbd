//===- tile_matmul.cpp - Products of bf16 on tile registers ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of the right side (depth x blockColumns) stay in the second cache
// while the left side goes by, a panel of which stays in the first. The blocks
// follow K. Goto and R. van de Geijn, "Anatomy of high-performance matrix
// multiplication", 2008.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/tile_matmul.h"
#include "runtime/device/cpu/library_kernel.h"
#include "runtime/device/cpu/team.h"
#include <algorithm>

namespace dist::cpu {

namespace {
/// Steps of a panel that fit in half of the first cache.
constexpr int64_t maxDepth = 512;
/// Of the second cache: what is packed at once of either side, and sums.
constexpr int64_t packedBytes = 1 << 20, sumBytes = 1 << 20;
/// Smaller products are the library's.
constexpr int64_t minTerms = 32, minColumns = 32, minRows = 16;
constexpr int64_t minMultiplications = 1 << 20;
/// Rows this far apart fall on the same places of the first cache.
constexpr int64_t aliasBytes = 2048;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }
int64_t panelsOf(int64_t size) { return ceilDiv(size, tileWidth); }
} // namespace

/// Rows and columns of one product.
struct TileMatmul::Share {
  TileSource left, right;
  char *result;
  int64_t row, rows, column, columns;
  uint16_t *packedLeft, *packedRight;
  float *sums; // of a block
};

/// What of a share is computed at once, and the terms [begin, end) of its sums.
struct TileMatmul::Block {
  int64_t row, rows, column, columns, begin, end;
};

std::optional<TileMatmul>
TileMatmul::create(const manifest::LibraryKernel &spec, int threads) {
  if (spec.kind() != manifest::LibraryKernel::MATMUL || spec.bias() ||
      spec.relu() || spec.accumulate() || !hasTiles())
    return std::nullopt;
  TileMatmul result;
  Side *sides[] = {&result.left, &result.right, &result.result};
  int dims = spec.memories(2).dims_size();
  for (int i = 0; i < 3; ++i) {
    const auto &memory = spec.memories(i);
    if (memory.strides_size() != dims || memory.dims_size() != dims || dims < 2)
      return std::nullopt;
    for (int64_t stride : memory.strides())
      if (stride < 0)
        return std::nullopt;
    sides[i]->rowStride = memory.strides(dims - 2);
    sides[i]->columnStride = memory.strides(dims - 1);
    for (int d = 0; d + 2 < dims; ++d) {
      if (memory.dims(d) != spec.memories(2).dims(d))
        return std::nullopt;
      sides[i]->batchStrides.push_back(memory.strides(d));
    }
    bool plain =
        sides[i]->columnStride == 1 || (i < 2 && sides[i]->rowStride == 1);
    bool floats = memory.type() == manifest::F32;
    // What is read as it is has to be narrow.
    if (!plain || (memory.type() != manifest::BF16 && !(floats && i > 0)))
      return std::nullopt;
    sides[i]->wide = floats;
  }
  const auto &last = spec.memories(2);
  if (spec.memories(0).dims(dims - 2) != last.dims(dims - 2) ||
      spec.memories(1).dims(dims - 1) != last.dims(dims - 1) ||
      spec.memories(0).dims(dims - 1) != spec.memories(1).dims(dims - 2))
    return std::nullopt; // the library says what is wrong
  result.m = last.dims(dims - 2);
  result.n = last.dims(dims - 1);
  result.k = spec.memories(0).dims(dims - 1);
  for (int d = 0; d + 2 < dims; ++d) {
    result.batch.push_back(last.dims(d));
    result.products *= last.dims(d);
  }
  if (result.k < minTerms || result.n < minColumns || result.m < minRows ||
      double(result.products) * result.m * result.n * result.k <
          minMultiplications)
    return std::nullopt;
  result.choose(threads);
  return result;
}

void TileMatmul::choose(int threads) {
  packsLeft = left.columnStride != 1;
  chunks = 1;
  shareRows = m;
  shareColumns = n;
  split = Split::Batch;
  if (products > 1) {
    chunks = std::min<int64_t>(threads, products);
  } else {
    // What both threads read: all of the side that is not cut, which costs
    // twice where it is packed.
    int64_t leftCost = m * k * (packsLeft ? 2 : 1), rightCost = n * k * 2;
    bool rows = leftCost > rightCost;
    int64_t panels = panelsOf(rows ? m : n);
    if (panels < threads && panelsOf(rows ? n : m) > panels) {
      rows = !rows;
      panels = panelsOf(rows ? m : n);
    }
    split = rows ? Split::Rows : Split::Columns;
    chunks = std::min<int64_t>(threads, panels);
    int64_t &share = rows ? shareRows : shareColumns;
    share = std::min(share, ceilDiv(panels, chunks) * tileWidth);
  }

  depth = roundUp(ceilDiv(k, ceilDiv(k, maxDepth)), tileWidth);
  keepsSums = depth < k;
  wholeDepth = roundUp(k, tileWidth);
  int64_t allColumns = roundUp(shareColumns, tileWidth);
  packsRightOnce = allColumns * wholeDepth * 2 <= packedBytes;
  blockColumns = std::min(allColumns, int64_t(keepsSums ? 256 : 512));
  blockRows = roundUp(shareRows, tileWidth);
  auto limit = [](int64_t bytes, int64_t rowBytes, int64_t *rows) {
    *rows = std::min(
        *rows, std::max(tileWidth, bytes / rowBytes / tileWidth * tileWidth));
  };
  // Then the left side need not go by but once: no more of it than a panel.
  if (packsRightOnce) {
    blockRows = tileWidth;
    blockColumns = allColumns;
  } else if (packsLeft) {
    limit(packedBytes, wholeDepth * 2, &blockRows);
  }
  if (keepsSums) {
    limit(sumBytes, blockRows * 4, &blockColumns);
    limit(sumBytes, blockColumns * 4, &blockRows);
  }
  leftBytes = 2 * (packsLeft ? blockRows * wholeDepth : tileWidth * depth);
  rightBytes =
      2 * (packsRightOnce ? allColumns * wholeDepth : blockColumns * depth);
  int64_t blockSums =
      4 * (keepsSums ? blockRows * blockColumns : tileWidth * tileWidth);
  chunkBytes = leftBytes + rightBytes + blockSums;
}

/// The block's 32 rows from `row` on, packed if need be.
LeftPanel TileMatmul::getLeft(const Share &share, const Block &block,
                              int64_t row) const {
  const TileSource &from = share.left;
  LeftPanel packed = {reinterpret_cast<const char *>(share.packedLeft), 64,
                      tileBytes, 2 * tileBytes, nullptr};
  if (packsLeft) {
    packed.data += 2 * ((row - block.row) * wholeDepth +
                        block.begin / tileWidth * stepElements);
    return packed;
  }
  int64_t rowBytes = from.rowStride * 2;
  if (k % tileWidth != 0 || rowBytes % aliasBytes == 0 ||
      row + tileWidth > from.rows) {
    packLeft(from, row, 1, block.begin, block.end, 0, share.packedLeft);
    return packed;
  }
  const char *ahead = row + 2 * tileWidth <= from.rows
                          ? from.at(row + tileWidth, block.begin)
                          : nullptr;
  return {from.at(row, block.begin), rowBytes, 16 * rowBytes, 64, ahead};
}

void TileMatmul::store(const Share &share, const float *sums, int64_t row,
                       int64_t column) const {
  int64_t rows = std::min(tileWidth, share.row + share.rows - row);
  int64_t columns = std::min(tileWidth, share.column + share.columns - column);
  int64_t offset = row * result.rowStride + column;
  if (result.wide)
    storeSums(sums, rows, columns,
              reinterpret_cast<float *>(share.result) + offset,
              result.rowStride);
  else
    storeSums(sums, rows, columns,
              reinterpret_cast<uint16_t *>(share.result) + offset,
              result.rowStride);
}

/// `right` has the block's columns, a panel each `rightElements`.
void TileMatmul::multiply(const Share &share, const Block &block,
                          const uint16_t *right, int64_t rightElements) const {
  int64_t panels = panelsOf(block.columns);
  int64_t steps = panelsOf(block.end - block.begin);
  int64_t elementBytes = result.wide ? 4 : 2;
  bool last = block.end == k;
  float *sums = share.sums;
  for (int64_t row = block.row; row < block.row + block.rows;
       row += tileWidth) {
    LeftPanel left = getLeft(share, block, row);
    for (int64_t panel = 0; panel < panels; ++panel) {
      int64_t column = block.column + panel * tileWidth;
      const char *target =
          share.result + (row * result.rowStride + column) * elementBytes;
      multiplyPanels(left, right + panel * rightElements, steps,
                     block.begin != 0, sums, last ? target : nullptr,
                     result.rowStride * elementBytes);
      // The next rows came while the first panel was computed.
      left.ahead = nullptr;
      if (last)
        store(share, sums, row, column);
      if (keepsSums)
        sums += tileWidth * tileWidth;
    }
  }
}

void TileMatmul::multiply(const Share &share) const {
  int64_t panelElements = tileWidth * wholeDepth;
  if (packsRightOnce)
    packRight(share.right, share.column, panelsOf(share.columns), 0, k,
              panelElements, share.packedRight);
  Block block;
  for (int64_t row = 0; row < share.rows; row += blockRows) {
    block.row = share.row + row;
    block.rows = std::min(blockRows, share.rows - row);
    if (packsLeft)
      packLeft(share.left, block.row, panelsOf(block.rows), 0, k, panelElements,
               share.packedLeft);
    for (int64_t column = 0; column < share.columns; column += blockColumns) {
      block.column = share.column + column;
      block.columns = std::min(blockColumns, share.columns - column);
      for (block.begin = 0; block.begin < k; block.begin += depth) {
        block.end = std::min(k, block.begin + depth);
        if (packsRightOnce) {
          multiply(share, block,
                   share.packedRight + column / tileWidth * panelElements +
                       block.begin / tileWidth * stepElements,
                   panelElements);
          continue;
        }
        packRight(share.right, block.column, panelsOf(block.columns),
                  block.begin, block.end, tileWidth * depth, share.packedRight);
        multiply(share, block, share.packedRight, tileWidth * depth);
      }
    }
  }
}

void TileMatmul::runChunk(void *const *buffers, int64_t chunk) const {
  char *scratch = static_cast<char *>(buffers[3]) + chunk * chunkBytes;
  Share share;
  share.packedLeft = reinterpret_cast<uint16_t *>(scratch);
  share.packedRight = reinterpret_cast<uint16_t *>(scratch + leftBytes);
  share.sums = reinterpret_cast<float *>(scratch + leftBytes + rightBytes);
  share.row = split == Split::Rows ? chunk * shareRows : 0;
  share.column = split == Split::Columns ? chunk * shareColumns : 0;
  share.rows = std::min(shareRows, m - share.row);
  share.columns = std::min(shareColumns, n - share.column);
  if (share.rows <= 0 || share.columns <= 0)
    return;
  int64_t begin = 0, end = 1;
  if (split == Split::Batch) {
    begin = products * chunk / chunks;
    end = products * (chunk + 1) / chunks;
  }
  beginTiles();
  for (int64_t product = begin; product < end; ++product) {
    int64_t offsets[3] = {0, 0, 0};
    const Side *sides[] = {&left, &right, &result};
    int64_t rest = product;
    for (size_t d = batch.size(); d-- > 0; rest /= batch[d])
      for (int i = 0; i < 3; ++i)
        offsets[i] += rest % batch[d] * sides[i]->batchStrides[d];
    auto at = [&](int i) {
      return static_cast<char *>(buffers[i]) +
             offsets[i] * (sides[i]->wide ? 4 : 2);
    };
    share.left = {at(0), m, k, left.rowStride, left.columnStride, left.wide};
    share.right = {at(1),     k, n, right.rowStride, right.columnStride,
                   right.wide};
    share.result = at(2);
    multiply(share);
  }
  endTiles();
}

void TileMatmul::runChunks(void **buffers, int64_t lo, int64_t hi, int64_t) {
  auto *self = static_cast<const TileMatmul *>(buffers[4]);
  for (int64_t chunk = lo; chunk < hi; ++chunk)
    self->runChunk(buffers, chunk);
}

void TileMatmul::run(void *const *buffers) const {
  void *all[] = {buffers[0], buffers[1], buffers[2], buffers[3],
                 const_cast<TileMatmul *>(this)};
  parallelFor(runChunks, all, chunks, chunks);
}

} // namespace dist::cpu
