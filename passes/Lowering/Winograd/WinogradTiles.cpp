//===- WinogradTiles.cpp - Tiles of images and their transforms -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Winograd/WinogradTiles.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// See WinogradOp::getScratchElements.
constexpr int64_t matrixGap = 16;
} // namespace

void WinogradTiles::setTiles(RankedTensorType images, ArrayRef<int64_t> pads,
                             int64_t count, int64_t depth) {
  tileCounts = {images.getDimSize(0),
                (images.getDimSize(1) + tileEdge - 1) / tileEdge,
                (images.getDimSize(2) + tileEdge - 1) / tileEdge};
  allTiles = rt::WinogradOp::countTiles(images);
  padLow = pads;
  blockTiles = count;
  scratch = buffers.outputs[1];
  inputStride = blockTiles * channels + matrixGap;
  productStride = blockTiles * columns + matrixGap;
  products = matrices * inputStride;
  panel = products + matrices * productStride;
  panelStride = depth * width + matrixGap;
}

WinogradTiles::Tile WinogradTiles::findTile(Value number) {
  Tile tile;
  tile.column = times(remainder(number, tileCounts[2]), tileEdge);
  Value rows = quotient(number, tileCounts[2]);
  tile.row = times(remainder(rows, tileCounts[1]), tileEdge);
  tile.image = quotient(rows, tileCounts[1]);
  return tile;
}

/// Line `offset` of the tiles that start at `start`, of `size` lines.
WinogradTiles::Line WinogradTiles::findLine(Value start, int64_t offset,
                                            int64_t dim, int64_t size) {
  Line line;
  line.at = plus(start, offset);
  int64_t last = (tileCounts[dim + 1] - 1) * tileEdge + offset;
  if (offset >= 0 && last < size)
    return line;
  line.inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                      line.at, index(size));
  Value atLeast = arith::MaxSIOp::create(b, loc, line.at, index(0));
  line.at = arith::MinSIOp::create(b, loc, atLeast, index(size - 1));
  return line;
}

Value WinogradTiles::isInside(const Line &y, const Line &x) {
  if (!y.inside || !x.inside)
    return y.inside ? y.inside : x.inside;
  return arith::AndIOp::create(b, loc, y.inside, x.inside);
}

Value WinogradTiles::loadInside(Value image, const Tile &tile, const Line &y,
                                const Line &x, Value channel) {
  Value value = load(image, {tile.image, y.at, x.at, channel});
  if (Value inside = isInside(y, x))
    value = arith::SelectOp::create(b, loc, inside, value, splat(0));
  return value;
}

void WinogradTiles::emitInput(Value number, Value inBlock, Value firstChannel) {
  auto type = cast<MemRefType>(buffers.inputs[0].getType());
  Tile tile = findTile(number);
  std::array<Line, windowEdge> y, x;
  for (int64_t i = 0; i < windowEdge; ++i) {
    y[i] = findLine(tile.row, i - padLow[0], 0, type.getDimSize(1));
    x[i] = findLine(tile.column, i - padLow[1], 1, type.getDimSize(2));
  }
  loop(channels, lanes, [&](Value channel) {
    Value from = firstChannel ? plus(firstChannel, channel) : channel;
    std::array<Edge, windowEdge> half; // by columns
    for (int64_t j = 0; j < windowEdge; ++j) {
      Edge column;
      for (int64_t i = 0; i < windowEdge; ++i)
        column[i] = loadInside(buffers.inputs[0], tile, y[i], x[j], from);
      half[j] = applyBT(column);
    }
    Value to = plus(times(inBlock, channels), channel);
    for (int64_t i = 0; i < windowEdge; ++i) {
      Edge row;
      for (int64_t j = 0; j < windowEdge; ++j)
        row[j] = half[j][i];
      row = applyBT(row);
      for (int64_t j = 0; j < windowEdge; ++j)
        store(row[j], scratch,
              scratchAt(plus(to, (i * windowEdge + j) * inputStride)));
    }
  });
}

void WinogradTiles::emitGrad(Value number, Value inBlock) {
  auto type = cast<MemRefType>(buffers.inputs[1].getType());
  Tile tile = findTile(number);
  std::array<Line, tileEdge> y, x;
  for (int64_t i = 0; i < tileEdge; ++i) {
    y[i] = findLine(tile.row, i, 0, type.getDimSize(1));
    x[i] = findLine(tile.column, i, 1, type.getDimSize(2));
  }
  loop(columns, lanes, [&](Value channel) {
    std::array<Edge, tileEdge> half; // by columns
    for (int64_t j = 0; j < tileEdge; ++j) {
      TileEdge column;
      for (int64_t i = 0; i < tileEdge; ++i)
        column[i] = loadInside(buffers.inputs[1], tile, y[i], x[j], channel);
      half[j] = applyA(column);
    }
    Value block = times(quotient(channel, width), blockTiles * width);
    Value inRow = plus(times(inBlock, width), remainder(channel, width));
    Value to = plus(plus(block, inRow), products);
    for (int64_t i = 0; i < windowEdge; ++i) {
      Edge row = applyA({half[0][i], half[1][i], half[2][i], half[3][i]});
      for (int64_t j = 0; j < windowEdge; ++j)
        store(row[j], scratch,
              scratchAt(plus(to, (i * windowEdge + j) * productStride)));
    }
  });
}

void WinogradTiles::emitOutput(Value number, Value inBlock, Value columnBlock) {
  auto type = cast<MemRefType>(buffers.outputs[0].getType());
  Tile tile = findTile(number);
  std::array<Line, tileEdge> y, x;
  for (int64_t i = 0; i < tileEdge; ++i) {
    y[i] = findLine(tile.row, i, 0, type.getDimSize(1));
    x[i] = findLine(tile.column, i, 1, type.getDimSize(2));
  }
  Value channel = times(columnBlock, columns);
  loop(columns, lanes, [&](Value column) {
    Value from = plus(plus(times(inBlock, columns), column), products);
    std::array<TileEdge, windowEdge> half; // by columns
    for (int64_t j = 0; j < windowEdge; ++j) {
      Edge edge;
      for (int64_t i = 0; i < windowEdge; ++i)
        edge[i] =
            load(scratch,
                 scratchAt(plus(from, (i * windowEdge + j) * productStride)));
      half[j] = applyAT(edge);
    }
    Value to = plus(channel, column);
    Value bias;
    if (hasBias)
      bias = load(buffers.inputs[2], to);
    for (int64_t i = 0; i < tileEdge; ++i) {
      Edge edge;
      for (int64_t j = 0; j < windowEdge; ++j)
        edge[j] = half[j][i];
      TileEdge row = applyAT(edge);
      for (int64_t j = 0; j < tileEdge; ++j) {
        Value value = bias ? add(row[j], bias) : row[j];
        if (hasRelu)
          value = arith::MaximumFOp::create(b, loc, value, splat(0));
        OpBuilder::InsertionGuard guard(b);
        if (Value inside = isInside(y[i], x[j])) {
          auto branch = scf::IfOp::create(b, loc, inside);
          b.setInsertionPoint(branch.thenBlock()->getTerminator());
        }
        store(value, buffers.outputs[0], {tile.image, y[i].at, x[j].at, to});
      }
    }
  });
}
