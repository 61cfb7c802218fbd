//===- RowReductions.cpp - What a kernel reduces over its rows -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums over many rows are made of sums over blocks of rows: rounding then grows
// with the root of a block's rows and that of the blocks, not of all rows
// (Higham 2002, Accuracy and Stability of Numerical Algorithms, 4.3).
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Kernels/ReductionCode.h"
#include "passes/Lowering/Kernels/RowEmitter.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::dist;

SmallVector<Value> RowEmitter::getAccumulatorIndices(unsigned output,
                                                     ValueRange keptIndices) {
  SmallVector<Value> indices;
  auto memory = cast<MemRefType>(buffers.outputs[output].getType());
  if (memory.getRank() == static_cast<int64_t>(keptIndices.size()) + 1)
    indices.push_back(buffers.chunk);
  llvm::append_range(indices, keptIndices);
  return indices;
}

Value RowEmitter::loadAccumulator(unsigned output, graph::ReduceOp op,
                                  ValueRange kept) {
  if (Value sums = blockSums.lookup(output))
    return memref::LoadOp::create(b, loc, sums, kept);
  Value memory = buffers.outputs[output];
  SmallVector<Value> at = getAccumulatorIndices(output, kept);
  Type element = getAccumulatorElement(op);
  if (element.isInteger(1))
    return loadMemory(memory, at, element);
  return memref::LoadOp::create(b, loc, memory, at);
}

void RowEmitter::storeAccumulator(unsigned output, graph::ReduceOp op,
                                  ValueRange kept, Value value) {
  if (Value sums = blockSums.lookup(output)) {
    memref::StoreOp::create(b, loc, value, sums, kept);
    return;
  }
  storeMemory(buffers.outputs[output], getAccumulatorIndices(output, kept),
              value, getAccumulatorElement(op));
}

/// Adds an element at a point of the domain.
void RowEmitter::addToAccumulator(OuterReduction reduction, ValueRange point,
                                  Value value) {
  auto [op, output] = reduction;
  SmallVector<Value> kept;
  for (auto [dim, index] : llvm::enumerate(point))
    if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)))
      kept.push_back(index);
  Value sum = combine(b, loc, op.getKind(), getAccumulatorElement(op),
                      loadAccumulator(output, op, kept), value);
  storeAccumulator(output, op, kept, sum);
}

void RowEmitter::clearAccumulators() {
  for (auto &[op, output] : outerReductions) {
    Value neutral =
        makeNeutral(b, loc, op.getKind(), getAccumulatorElement(op));
    makeLoops(
        typeOf(op.getResult()).getShape(), {},
        [&, op = op, output = output](ValueRange indices, ValueRange) mutable {
          storeAccumulator(output, op, indices, neutral);
          return SmallVector<Value>();
        });
  }
}

/// Of the carried reductions.
SmallVector<Value> RowEmitter::makeNeutrals() {
  SmallVector<Value> neutrals;
  for (auto [op, output] : carriedReductions)
    neutrals.push_back(makeNeutral(b, loc, op.getKind(),
                                   typeOf(op.getOperand()).getElementType()));
  return neutrals;
}

/// Rows of a block where a chunk sums up so many terms that blocks gain: as
/// many terms as there are blocks, or one row; 0: no blocks.
int64_t RowEmitter::chooseBlock() {
  int64_t points = ShapedType::getNumElements(kernel.getDomain());
  if (points == 0)
    return 0;
  int64_t terms = 0, sums = 0;
  auto add = [&](graph::ReduceOp op) {
    auto type = typeOf(op.getResult());
    sums += type.getNumElements();
    if (op.getKind() == Reduction::Sum && isa<FloatType>(type.getElementType()))
      terms = std::max(terms, points / type.getNumElements());
  };
  for (auto &entry : outerReductions)
    add(entry.first);
  for (auto &entry : carriedReductions)
    add(entry.first);
  int64_t rows = ShapedType::getNumElements(rowShape);
  // The sums of a block stay in the nearest cache.
  if (terms / kernel.getChunks() < kLongSumTerms || sums > mostBlockSums)
    return 0;
  int64_t termsOfBlock = int64_t(1)
                         << llvm::Log2_64(terms / kernel.getChunks()) / 2;
  return std::max<int64_t>(1, termsOfBlock * rows / terms);
}

/// To what the outputs have.
void RowEmitter::addBlockSums() {
  for (auto &[op, output] : outerReductions)
    makeLoops(
        typeOf(op.getResult()).getShape(), {},
        [&, op = op, output = output](ValueRange indices, ValueRange) mutable {
          Value sum = combine(
              b, loc, op.getKind(), getAccumulatorElement(op),
              loadAccumulator(output, op, indices),
              memref::LoadOp::create(b, loc, sumsOfBlock[output], indices));
          storeAccumulator(output, op, indices, sum);
          return SmallVector<Value>();
        });
}

SmallVector<Value> RowEmitter::emitBlocks(Value lo, Value hi, int64_t rows,
                                          ValueRange carried) {
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&func.getBody().front());
    for (auto [op, output] : outerReductions) {
      auto type = MemRefType::get(typeOf(op.getResult()).getShape(),
                                  getComputeType(getAccumulatorElement(op)));
      sumsOfBlock[output] = memref::AllocaOp::create(
          b, loc, type, b.getI64IntegerAttr(cacheLine));
    }
  }
  return makeFor(lo, hi, rows, carried, [&](Value begin, ValueRange carried) {
    Value end = arith::MinUIOp::create(
        b, loc, arith::AddIOp::create(b, loc, begin, getConstantIndex(rows)),
        hi);
    blockSums = sumsOfBlock;
    clearAccumulators();
    SmallVector<Value> sums = emitRowLoop(begin, end, makeNeutrals());
    blockSums.clear();
    addBlockSums();
    for (auto [i, entry] : llvm::enumerate(carriedReductions)) {
      graph::ReduceOp op = entry.first;
      sums[i] = combine(b, loc, op.getKind(),
                        typeOf(op.getOperand()).getElementType(), carried[i],
                        sums[i]);
    }
    return sums;
  });
}
