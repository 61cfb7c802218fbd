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
#include "passes/Lowering/Winograd/WinogradTiles.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

/// Rows of the block that is multiplied in registers.
constexpr int64_t blockRows = 4;

class WinogradEmitter : WinogradTiles {
public:
  WinogradEmitter(const KernelBuffers &buffers, Location loc, int64_t lanes,
                  OpBuilder &b)
      : WinogradTiles(buffers, loc, lanes, b) {}

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
};

} // namespace

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
