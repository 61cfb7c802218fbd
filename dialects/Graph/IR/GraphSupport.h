//===- GraphSupport.h - What several op families share -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the families' sources.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHSUPPORT_H
#define DIALECTS_GRAPH_IR_GRAPHSUPPORT_H

#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Graph/IR/ScalarBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>

namespace mlir::dist::graph {

using ValueDim = ShardingRuleBuilder::ValueDim;

inline void copyElement(HostTensor &to, int64_t i, const HostTensor &from,
                        int64_t j) {
  if (to.isFloat())
    to.setDouble(i, from.getDouble(j));
  else
    to.setInt(i, from.getInt(j));
}

/// Whether element a is above (or below) element b, as ScalarBuilder::beyond.
inline bool isBeyond(const HostTensor &x, int64_t a, int64_t b, bool above) {
  if (x.isFloat()) {
    double first = x.getDouble(a), second = x.getDouble(b);
    if (std::isnan(first) || std::isnan(second))
      return std::isnan(first) && !std::isnan(second);
    return above ? first > second : first < second;
  }
  if (!above)
    std::swap(a, b);
  return x.isUnsigned() ? uint64_t(x.getInt(a)) > uint64_t(x.getInt(b))
                        : x.getInt(a) > x.getInt(b);
}

using LoopBody = llvm::function_ref<SmallVector<Value>(
    OpBuilder &, Location, ValueRange indices, ValueRange state)>;

/// Rows of a loop nest, as index values; both null: all.
struct LoopRange {
  Value begin, end;
};

/// Loops 0..size-1, outermost first, that carry `state`; gives its last values.
/// Of the outermost dim only `rows`.
inline SmallVector<Value> emitLoopNest(OpBuilder &builder, Location loc,
                                       ArrayRef<int64_t> sizes,
                                       ValueRange state, LoopBody body,
                                       LoopRange rows = {}) {
  ScalarBuilder b(builder, loc, builder.getI64Type());
  SmallVector<Value> low(sizes.size(), b.index(0)),
      step(sizes.size(), b.index(1));
  SmallVector<Value> high;
  for (int64_t size : sizes)
    high.push_back(b.index(size));
  if (rows.begin) {
    low[0] = rows.begin;
    high[0] = b.create<arith::MinUIOp>(rows.end, high[0]);
  }
  return scf::buildLoopNest(
             builder, loc, low, high, step, state,
             [&](OpBuilder &inner, Location loc, ValueRange indices,
                 ValueRange args) -> scf::ValueVector {
               SmallVector<Value> next = body(inner, loc, indices, args);
               return {next.begin(), next.end()};
             })
      .results;
}

/// An element of a memref in the compute type of its tensor's elements.
inline Value emitLoad(OpBuilder &builder, Location loc, Value memref,
                      ValueRange indices, Type elementType) {
  Value stored = memref::LoadOp::create(builder, loc, memref, indices);
  return emitToCompute(builder, loc, stored, elementType);
}
/// `lanes` elements from there on along the last dim, as a vector.
inline Value emitLoadVector(OpBuilder &builder, Location loc, Value memref,
                            ValueRange indices, int64_t lanes,
                            Type elementType) {
  Type stored = cast<MemRefType>(memref.getType()).getElementType();
  return emitToCompute(builder, loc,
                       vector::LoadOp::create(builder, loc,
                                              VectorType::get(lanes, stored),
                                              memref, indices),
                       VectorType::get(lanes, elementType));
}
inline void emitStore(OpBuilder &builder, Location loc, Value value,
                      Value memref, ValueRange indices, Type elementType) {
  memref::StoreOp::create(builder, loc,
                          emitToStorage(builder, loc, value, elementType),
                          memref, indices);
}

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IR_GRAPHSUPPORT_H
