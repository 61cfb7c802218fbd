//===- GraphBuilder.h - Formulas as graph ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derivatives, decompositions and passes write formulas; this class makes them
// read as such: `g.mul(dy, g.sub(g.like(y, 1), g.mul(y, y)))`.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHBUILDER_H
#define DIALECTS_GRAPH_IR_GRAPHBUILDER_H

#include "dialects/Graph/IR/Graph.h"
#include <optional>

namespace mlir::dist::graph {

class GraphBuilder {
public:
  GraphBuilder(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  template <typename OpT, typename... Args> OpT create(Args &&...args) {
    return OpT::create(builder, loc, std::forward<Args>(args)...);
  }
  /// One op of one result, as a value.
  template <typename OpT, typename... Args> Value make(Args &&...args) {
    return create<OpT>(std::forward<Args>(args)...)->getResult(0);
  }

  /// A constant with every element `value`, of tensor type `type` or of x's.
  Value splat(Type type, double value);
  Value like(Value x, double value) { return splat(x.getType(), value); }
  Value zeros(Type type) { return splat(type, 0); }
  /// A constant scalar tensor.
  Value scalar(Type elementType, double value);

  Value neg(Value x) { return make<NegOp>(x); }
  Value exp(Value x) { return make<ExpOp>(x); }
  Value log(Value x) { return make<LogOp>(x); }
  Value sqrt(Value x) { return make<SqrtOp>(x); }
  Value rsqrt(Value x) { return make<RsqrtOp>(x); }
  Value add(Value x, Value y) { return make<AddOp>(x, y); }
  Value sub(Value x, Value y) { return make<SubOp>(x, y); }
  Value mul(Value x, Value y) { return make<MulOp>(x, y); }
  Value div(Value x, Value y) { return make<DivOp>(x, y); }
  Value pow(Value x, Value y) { return make<PowOp>(x, y); }
  Value max(Value x, Value y) { return make<MaxOp>(x, y); }
  Value min(Value x, Value y) { return make<MinOp>(x, y); }
  Value square(Value x) { return mul(x, x); }
  /// With a number instead of a tensor.
  Value add(Value x, double y) { return add(x, like(x, y)); }
  Value mul(Value x, double y) { return mul(x, like(x, y)); }

  Value compare(ComparePredicate predicate, Value x, Value y) {
    return make<CompareOp>(predicate, x, y);
  }
  Value select(Value predicate, Value x, Value y) {
    return make<SelectOp>(predicate, x, y);
  }
  /// x itself when it has the element type already.
  Value convert(Value x, Type elementType);

  Value reduce(Reduction kind, Value x, ArrayRef<int64_t> dims) {
    return make<ReduceOp>(kind, x, dims);
  }
  Value sum(Value x, ArrayRef<int64_t> dims);
  /// x itself when it has the shape already.
  Value reshape(Value x, ArrayRef<int64_t> shape);
  /// x itself when the permutation is the identity.
  Value transpose(Value x, ArrayRef<int64_t> permutation);
  /// x's dim i becomes dim `dims[i]` of `shape`.
  Value broadcast(Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims);
  /// Undoes a reduction over `dims`: x gets those dims of `shape` back.
  Value broadcastOver(Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims);
  /// A scalar in every element of `shape`.
  Value broadcastScalar(Value x, ArrayRef<int64_t> shape) {
    return broadcast(x, shape, {});
  }
  /// 0, 1, 2, ... along `dim`.
  Value iota(Type type, int64_t dim);

  OpBuilder &getBuilder() { return builder; }
  Location getLoc() { return loc; }

private:
  OpBuilder &builder;
  Location loc;
};

/// The number that every element of `value` is known to be, seen through
/// broadcasts, reshapes, transposes, slices and conversions of constants.
std::optional<double> findSplat(Value value);

/// Whether every element of `value` is known to be 0.
bool isZero(Value value);

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IR_GRAPHBUILDER_H
