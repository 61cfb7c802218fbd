//===- WinogradTiles.h - Tiles of images and their transforms -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// F(4x4, 3x3) computes tiles of 4x4 of an output (see WinogradEmitter.cpp).
// What a tile needs of images goes transformed into the scratch, where the
// products of many tiles are made at once, and what comes of them goes into the
// output.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_WINOGRAD_WINOGRADTILES_H
#define PASSES_LOWERING_WINOGRAD_WINOGRADTILES_H

#include "passes/Lowering/Winograd/WinogradEmitter.h"
#include "passes/Lowering/Winograd/WinogradTransforms.h"

namespace mlir::dist {

class WinogradTiles : protected WinogradTransforms {
protected:
  static constexpr int64_t matrices = 36;

  WinogradTiles(const KernelBuffers &buffers, Location loc, int64_t lanes,
                OpBuilder &b)
      : WinogradTransforms(b, loc, lanes), buffers(buffers) {}

  /// `images` are those that the tiles cover, `count` the tiles of a block.
  /// `channels`, `columns` and `width` are set.
  void setTiles(RankedTensorType images, ArrayRef<int64_t> pads, int64_t count,
                int64_t depth = 0);
  /// scratch <- B^T x B, of all channels or those from the first on.
  void emitInput(Value tile, Value inBlock, Value firstChannel = {});
  /// scratch <- A d A^T
  void emitGrad(Value tile, Value inBlock);
  /// output <- A^T products A
  void emitOutput(Value tile, Value inBlock, Value columnBlock);

  /// The element of this chunk's part of what each chunk has.
  SmallVector<Value> scratchAt(Value element) {
    if (cast<MemRefType>(scratch.getType()).getRank() == 2)
      return {buffers.chunk, element};
    return {element};
  }

  const KernelBuffers &buffers;

  int64_t allTiles = 0, blockTiles = 0;
  Value scratch;
  bool hasBias = false, hasRelu = false;
  /// Of a row of the two parts of the scratch: the transformed input, and the
  /// products or, cut into blocks of `width`, the transformed gradient.
  int64_t channels = 0, columns = 0, width = 0;
  /// Elements between matrices of these, and where the latter start.
  int64_t inputStride = 0, productStride = 0, products = 0;
  /// Of a filter's panel, whose rows have `width` elements.
  int64_t panelStride = 0, panel = 0;

private:
  /// An image, and the place of a tile in it.
  struct Tile {
    Value image, row, column;
  };
  /// A row or column of an image, and whether it is inside: null where it is
  /// for all tiles; outside it is a place that can be read.
  struct Line {
    Value at, inside;
  };
  Tile findTile(Value number);
  Line findLine(Value start, int64_t offset, int64_t dim, int64_t size);
  Value isInside(const Line &y, const Line &x);
  Value loadInside(Value image, const Tile &tile, const Line &y, const Line &x,
                   Value channel);

  /// Tiles in an output: images, rows of them, columns of them.
  SmallVector<int64_t> tileCounts;
  ArrayRef<int64_t> padLow;
};

} // namespace mlir::dist

#endif // PASSES_LOWERING_WINOGRAD_WINOGRADTILES_H
