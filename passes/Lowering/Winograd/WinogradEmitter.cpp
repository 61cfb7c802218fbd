//===- WinogradEmitter.cpp - Loops of Winograd convolutions -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// F(4x4, 3x3) with the points 0, 1, -1, 2, -2 and infinity (Lavin and Gray,
// 2015): an output tile d is A^T ((G g G^T) . (B^T x B)) A, where the products
// . are 36 matrix products over a block of tiles. For each block:
//
//   each tile, each vector of input channels:   scratch <- B^T x B
//   each block of output channels:
//     each of 36 matrices, each 4 tiles:        products <- scratch * filter
//     each tile, each vector of the channels:   output <- A^T products A
//
// The filter's gradient is the adjoint: G^T (sum over tiles of B^T x B times
// A d A^T) G, whose sums are 36 matrices too. What is done to filters alone
// stands in WinogradFilterEmitter.cpp.
//
// Where tiles are few, a filter's 36 matrices would be written to memory to be
// read once. There they are made, and read, a panel at a time: some input
// channels, a block of output channels.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Winograd/WinogradEmitter.h"
#include "passes/Lowering/Winograd/WinogradFilterEmitter.h"
#include "passes/Lowering/Winograd/WinogradTransforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

/// Rows of the block that is multiplied in registers.
constexpr int64_t blockRows = 4;
constexpr int64_t matrices = 36;
/// See WinogradOp::getScratchElements.
constexpr int64_t matrixGap = 16;

class WinogradEmitter : WinogradTransforms {
public:
  WinogradEmitter(const KernelBuffers &buffers, Location loc, int64_t lanes,
                  OpBuilder &b)
      : WinogradTransforms(b, loc, lanes), buffers(buffers) {}

  void emit(rt::WinogradOp op);
  void emit(rt::WinogradProductsOp op);
  void emit(rt::WinogradPanelsOp op);
  void emit(rt::WinogradPanelsGradOp op);

private:
  /// The scratch's element in all lanes.
  Value loadWide(Value element) {
    Value scalar = memref::LoadOp::create(b, loc, scratch, scratchAt(element));
    return vector::BroadcastOp::create(b, loc, vector, scalar);
  }
  /// An image, and the place of a tile in it.
  struct Tile {
    Value image, row, column;
  };
  /// A row or column of an image, and whether it is inside: null where it is
  /// for all tiles; outside it is a place that can be read.
  struct Line {
    Value at, inside;
  };
  void setTiles(RankedTensorType images, ArrayRef<int64_t> pads, int64_t count,
                int64_t depth = 0);
  Tile findTile(Value number);
  Line findLine(Value start, int64_t offset, int64_t dim, int64_t size);
  Value loadInside(Value image, const Tile &tile, const Line &y, const Line &x,
                   Value channel);
  Value isInside(const Line &y, const Line &x);
  void emitInput(Value tile, Value inBlock, Value firstChannel = {});
  void emitGrad(Value tile, Value inBlock);
  void emitOutput(Value tile, Value inBlock, Value columnBlock);
  /// A vector of the filter's factors.
  using FactorAt =
      llvm::function_ref<Value(Value matrix, Value channel, int64_t vector)>;
  void emitProducts(Value groups, Value firstChannel, int64_t depth,
                    Value isFirst, FactorAt factor);
  /// Where sums of an input channel and a vector of output channels are.
  using SumAt = llvm::function_ref<SmallVector<Value>(
      Value channel, int64_t row, int64_t column)>;
  void emitSums(Value matrix, Value column, Value count, Value isFirst,
                Value memory, SumAt place);
  /// Where the i-th vector of a block of sums is.
  using PlaceAt = llvm::function_ref<SmallVector<Value>(int64_t i)>;
  SmallVector<Value> startSums(Value isFirst, int64_t count, Value memory,
                               PlaceAt place);
  void emitBlock(Value terms, Value isFirst, Value memory, PlaceAt place,
                 llvm::function_ref<Value(Value term, int64_t row)> element,
                 llvm::function_ref<Value(Value term, int64_t vector)> vector);
  SmallVector<Value> panelAt(Value matrix, Value channel, Value column) {
    return scratchAt(plus(plus(times(matrix, panelStride), panel),
                          plus(times(channel, width), column)));
  }
  void forEachBlock(
      llvm::function_ref<void(Value block, Value first, Value count)> body);
  void forEachTileBlock(
      int64_t outputs,
      llvm::function_ref<void(Value columnBlock, Value groups)> products);

  /// The element of this chunk's part of what each chunk has.
  SmallVector<Value> scratchAt(Value element) {
    if (cast<MemRefType>(scratch.getType()).getRank() == 2)
      return {buffers.chunk, element};
    return {element};
  }

  const KernelBuffers &buffers;

  /// Tiles in an output: images, rows of them, columns of them; of a block.
  SmallVector<int64_t> tileCounts;
  int64_t allTiles = 0, blockTiles = 0;
  ArrayRef<int64_t> padLow;
  Value scratch;
  bool hasBias = false, hasRelu = false;
  /// Of a row of the two parts of the scratch: the transformed input, and the
  /// products or, cut into blocks of `width`, the transformed gradient.
  int64_t channels = 0, columns = 0, width = 0;
  /// Elements between matrices of these, and where the latter start.
  int64_t inputStride = 0, productStride = 0, products = 0;
  /// Of a filter's panel, whose rows have `width` elements.
  int64_t panelStride = 0, panel = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// `images` are those that the tiles cover, `count` the tiles of a block.
void WinogradEmitter::setTiles(RankedTensorType images, ArrayRef<int64_t> pads,
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

WinogradEmitter::Tile WinogradEmitter::findTile(Value number) {
  Tile tile;
  tile.column = times(remainder(number, tileCounts[2]), tileEdge);
  Value rows = quotient(number, tileCounts[2]);
  tile.row = times(remainder(rows, tileCounts[1]), tileEdge);
  tile.image = quotient(rows, tileCounts[1]);
  return tile;
}

/// Line `offset` of the tiles that start at `start`, of `size` lines.
WinogradEmitter::Line WinogradEmitter::findLine(Value start, int64_t offset,
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

Value WinogradEmitter::isInside(const Line &y, const Line &x) {
  if (!y.inside || !x.inside)
    return y.inside ? y.inside : x.inside;
  return arith::AndIOp::create(b, loc, y.inside, x.inside);
}

Value WinogradEmitter::loadInside(Value image, const Tile &tile, const Line &y,
                                  const Line &x, Value channel) {
  Value value = load(image, {tile.image, y.at, x.at, channel});
  if (Value inside = isInside(y, x))
    value = arith::SelectOp::create(b, loc, inside, value, splat(0));
  return value;
}

/// scratch <- B^T x B, of all channels or those from the first on.
void WinogradEmitter::emitInput(Value number, Value inBlock,
                                Value firstChannel) {
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

/// scratch <- A d A^T
void WinogradEmitter::emitGrad(Value number, Value inBlock) {
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

/// output <- A^T products A
void WinogradEmitter::emitOutput(Value number, Value inBlock,
                                 Value columnBlock) {
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

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Sums start with what memory has of them, or with zeros if this is the first
/// part of them; no condition: it is.
SmallVector<Value> WinogradEmitter::startSums(Value isFirst, int64_t count,
                                              Value memory, PlaceAt place) {
  SmallVector<Value> zeros(count, splat(0));
  if (!isFirst)
    return zeros;
  auto old = scf::IfOp::create(b, loc, SmallVector<Type>(count, vector),
                               isFirst, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(old.thenBlock());
  scf::YieldOp::create(b, loc, zeros);
  b.setInsertionPointToEnd(old.elseBlock());
  SmallVector<Value> loaded;
  for (int64_t i = 0; i < count; ++i)
    loaded.push_back(load(memory, place(i)));
  scf::YieldOp::create(b, loc, loaded);
  return SmallVector<Value>(old.getResults());
}

/// 4 rows of `width` sums, which stay in registers: of each term, a row's
/// element in the scratch times the vectors of all rows. They are added to what
/// `memory` has of them.
void WinogradEmitter::emitBlock(
    Value terms, Value isFirst, Value memory, PlaceAt place,
    llvm::function_ref<Value(Value term, int64_t row)> element,
    llvm::function_ref<Value(Value term, int64_t vector)> vector) {
  int64_t vectors = width / lanes;
  auto sum = scf::ForOp::create(
      b, loc, index(0), terms, index(1),
      startSums(isFirst, blockRows * vectors, memory, place));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(sum.getBody());
    Value term = sum.getInductionVar();
    SmallVector<Value> ofAllRows, next;
    for (int64_t v = 0; v < vectors; ++v)
      ofAllRows.push_back(vector(term, v));
    for (int64_t row = 0; row < blockRows; ++row) {
      Value wide = loadWide(element(term, row));
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(
            vector::FMAOp::create(b, loc, wide, ofAllRows[v],
                                  sum.getRegionIterArgs()[row * vectors + v]));
    }
    scf::YieldOp::create(b, loc, next);
  }
  for (int64_t i = 0; i < blockRows * vectors; ++i)
    store(sum.getResult(i), memory, place(i));
}

/// The products of all matrices for `groups` times 4 tiles and a block of
/// output channels, of `depth` input channels.
void WinogradEmitter::emitProducts(Value groups, Value firstChannel,
                                   int64_t depth, Value isFirst,
                                   FactorAt factor) {
  loop(matrices, 1, [&](Value matrix) {
    loop(index(0), groups, 1, [&](Value group) {
      Value from = plus(plus(times(matrix, inputStride), firstChannel),
                        times(group, blockRows * channels));
      Value to = plus(plus(times(matrix, productStride), products),
                      times(group, blockRows * columns));
      emitBlock(
          index(depth), isFirst, scratch,
          [&](int64_t i) { return scratchAt(plus(to, i * lanes)); },
          [&](Value channel, int64_t row) {
            return plus(plus(from, channel), row * channels);
          },
          [&](Value channel, int64_t v) { return factor(matrix, channel, v); });
    });
  });
}

/// Adds the products of `count` tiles, 4 input channels and `width` output
/// channels at once, to what `memory` has of them.
void WinogradEmitter::emitSums(Value matrix, Value column, Value count,
                               Value isFirst, Value memory, SumAt place) {
  int64_t vectors = width / lanes;
  loop(channels, blockRows, [&](Value channel) {
    Value inputs = plus(times(matrix, inputStride), channel);
    Value grads =
        plus(plus(times(matrix, productStride), times(column, blockTiles)),
             products);
    emitBlock(
        count, isFirst, memory,
        [&](int64_t i) {
          return place(channel, i / vectors, i % vectors * lanes);
        },
        [&](Value tile, int64_t row) {
          return plus(plus(inputs, times(tile, channels)), row);
        },
        [&](Value tile, int64_t v) {
          Value grad = plus(grads, times(tile, width));
          return load(scratch, scratchAt(plus(grad, v * lanes)));
        });
  });
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void WinogradEmitter::forEachBlock(
    llvm::function_ref<void(Value block, Value first, Value count)> body) {
  loop(buffers.lo, buffers.hi, 1, [&](Value block) {
    Value first = times(block, blockTiles);
    Value left = arith::SubIOp::create(b, loc, index(allTiles), first);
    body(block, first, arith::MinUIOp::create(b, loc, index(blockTiles), left));
  });
}

/// What convolutions do with each block of tiles; `products` makes those of a
/// block of the output's channels.
void WinogradEmitter::forEachTileBlock(
    int64_t outputs,
    llvm::function_ref<void(Value columnBlock, Value groups)> products) {
  forEachBlock([&](Value, Value first, Value count) {
    loop(index(0), count, 1,
         [&](Value tile) { emitInput(plus(first, tile), tile); });
    // The last group may multiply up to 3 tiles that are not read.
    Value groups = quotient(plus(count, blockRows - 1), blockRows);
    loop(outputs / columns, 1, [&](Value columnBlock) {
      products(columnBlock, groups);
      loop(index(0), count, 1, [&](Value tile) {
        emitOutput(plus(first, tile), tile, columnBlock);
      });
    });
  });
}

void WinogradEmitter::emit(rt::WinogradOp op) {
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  channels = filter.getDimSize(2);
  columns = width = filter.getDimSize(3);
  hasBias = bool(op.getBias());
  hasRelu = op.getRelu();
  setTiles(cast<RankedTensorType>(op.getOutput().getType()), op.getPadLow(),
           op.getTiles());
  forEachTileBlock(filter.getDimSize(1) * columns, [&](Value columnBlock,
                                                       Value groups) {
    emitProducts(groups, index(0), channels, /*isFirst=*/{},
                 [&](Value matrix, Value channel, int64_t v) {
                   return load(buffers.inputs[1], {matrix, columnBlock, channel,
                                                   index(v * lanes)});
                 });
  });
}

void WinogradEmitter::emit(rt::WinogradPanelsOp op) {
  auto output = cast<RankedTensorType>(op.getOutput().getType());
  int64_t depth = op.getDepth();
  channels = cast<RankedTensorType>(op.getInput().getType()).getDimSize(3);
  columns = width = op.getColumns();
  hasBias = bool(op.getBias());
  hasRelu = op.getRelu();
  setTiles(output, op.getPadLow(), op.getTiles(), depth);
  FilterEmitter filter(loc, lanes, buffers.inputs[1], op.getStrides(), b);
  forEachTileBlock(output.getDimSize(3), [&](Value columnBlock, Value groups) {
    loop(channels, depth, [&](Value channel) {
      loop(depth, lanes, [&](Value inPanel) {
        filter.emitFactors(
            times(columnBlock, columns), columns, plus(channel, inPanel),
            op.getRotate(),
            [&](Value factor, int64_t matrix, Value input, Value column) {
              store(factor, scratch,
                    panelAt(index(matrix), plus(inPanel, input), column));
            });
      });
      Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                            channel, index(0));
      emitProducts(groups, channel, depth, isFirst,
                   [&](Value matrix, Value inPanel, int64_t v) {
                     return load(scratch,
                                 panelAt(matrix, inPanel, index(v * lanes)));
                   });
    });
  });
}

void WinogradEmitter::emit(rt::WinogradProductsOp op) {
  auto type = cast<RankedTensorType>(op.getSums().getType());
  channels = type.getDimSize(1);
  columns = type.getDimSize(2);
  width = op.getColumns();
  setTiles(cast<RankedTensorType>(op.getGrad().getType()), op.getPadLow(),
           op.getTiles());
  Value sums = buffers.outputs[0];
  bool hasChunks = cast<MemRefType>(sums.getType()).getRank() == 4;
  forEachBlock([&](Value block, Value first, Value count) {
    loop(index(0), count, 1, [&](Value tile) {
      emitInput(plus(first, tile), tile);
      emitGrad(plus(first, tile), tile);
    });
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                          block, buffers.lo);
    loop(matrices, 1, [&](Value matrix) {
      loop(columns, width, [&](Value column) {
        emitSums(matrix, column, count, isFirst, sums,
                 [&](Value channel, int64_t row, int64_t inBlock) {
                   SmallVector<Value> at;
                   if (hasChunks)
                     at.push_back(buffers.chunk);
                   at.append(
                       {matrix, plus(channel, row), plus(column, inBlock)});
                   return at;
                 });
      });
    });
  });
}

/// A row is a panel of input channels; all of them read the transformed
/// gradient of all tiles, which each chunk makes for itself.
void WinogradEmitter::emit(rt::WinogradPanelsGradOp op) {
  auto grad = cast<RankedTensorType>(op.getGrad().getType());
  channels = op.getDepth();
  columns = grad.getDimSize(3);
  width = op.getColumns();
  setTiles(grad, op.getPadLow(), op.getTiles(), channels);
  FilterEmitter filter(loc, lanes, buffers.outputs[0], op.getStrides(), b);
  loop(allTiles, 1, [&](Value tile) { emitGrad(tile, tile); });
  loop(buffers.lo, buffers.hi, 1, [&](Value row) {
    Value first = times(row, channels);
    loop(allTiles, 1, [&](Value tile) { emitInput(tile, tile, first); });
    loop(columns, width, [&](Value column) {
      loop(matrices, 1, [&](Value matrix) {
        emitSums(matrix, column, index(allTiles), /*isFirst=*/{}, scratch,
                 [&](Value channel, int64_t after, int64_t inBlock) {
                   return panelAt(matrix, plus(channel, after), index(inBlock));
                 });
      });
      loop(channels, lanes, [&](Value channel) {
        loop(width, lanes, [&](Value inBlock) {
          filter.emitWindows(
              plus(column, inBlock), plus(first, channel),
              [&](Value input, int64_t matrix) {
                return load(scratch, panelAt(index(matrix),
                                             plus(channel, input), inBlock));
              });
        });
      });
    });
  });
}

bool mlir::dist::isWinograd(Operation *op) {
  return isa_and_nonnull<rt::WinogradOp, rt::WinogradFilterOp,
                         rt::WinogradProductsOp, rt::WinogradFilterGradOp,
                         rt::WinogradPanelsOp, rt::WinogradPanelsGradOp>(op);
}

void mlir::dist::emitWinograd(Operation *op, const KernelBuffers &buffers,
                              OpBuilder &b) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<rt::WinogradOp, rt::WinogradProductsOp, rt::WinogradPanelsOp,
            rt::WinogradPanelsGradOp>([&](auto winograd) {
        WinogradEmitter(buffers, op->getLoc(), winograd.getLanes(), b)
            .emit(winograd);
      })
      .Case<rt::WinogradFilterOp, rt::WinogradFilterGradOp>(
          [&](auto winograd) { emitWinogradFilter(winograd, buffers, b); });
}
