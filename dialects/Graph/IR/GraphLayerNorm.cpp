//===- GraphLayerNorm.cpp - layer_norm -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphComposite.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &inferred) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= operand.getRank())
    return emitOptionalError(location,
                             "'graph.layer_norm' op expected axis in [0, ",
                             operand.getRank(), "), but got ", axis);
  ArrayRef<int64_t> normalized = operand.getShape().drop_front(axis);
  for (auto [name, value] : {std::pair("scale", adaptor.getScale()),
                             std::pair("bias", adaptor.getBias())})
    if (getShape(value) != normalized)
      return emitOptionalError(location, "'graph.layer_norm' op expected ",
                               name, " of shape [", normalized, "], but got [",
                               getShape(value), "]");
  auto statistics =
      RankedTensorType::get(operand.getShape().take_front(axis),
                            getStatisticsType(operand.getElementType()));
  inferred.assign({operand, statistics, statistics});
  return success();
}

ShardingRule LayerNormOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  unsigned axis = getAxis();
  for (auto [d, size] : llvm::enumerate(getShape(getOperand()))) {
    unsigned dim = d;
    if (dim < axis)
      rule.factor(size, {{0, dim}}, {{0, dim}, {1, dim}, {2, dim}});
    else
      rule.factor(size, {{0, dim}, {1, dim - axis}, {2, dim - axis}},
                  {{0, dim}}, FactorKind::NeedReplication);
  }
  return rule.build();
}

OpCost LayerNormOp::getCost() { return getCompositeCost(*this, 8); }

namespace {
/// The shapes and dims that the formulas speak of.
struct Dims {
  explicit Dims(LayerNormOp op)
      : shape(getShape(op.getOperand())), axis(op.getAxis()) {
    for (int64_t d = axis, e = shape.size(); d < e; ++d) {
      normalized.push_back(d);
      count *= shape[d];
    }
  }
  ArrayRef<int64_t> shape;
  int64_t axis;
  SmallVector<int64_t> normalized;
  double count = 1;

  /// A statistic of each row, for every element.
  Value fromRows(GraphBuilder &g, Value x) const {
    return g.broadcastOver(x, shape, normalized);
  }
  /// scale or bias, for every element.
  Value fromNormalized(GraphBuilder &g, Value x) const {
    return g.broadcast(x, shape, normalized);
  }
  Value mean(GraphBuilder &g, Value x) const {
    return g.mul(g.sum(x, normalized), 1 / count);
  }
};
} // namespace

LogicalResult LayerNormOp::decompose(OpBuilder &builder,
                                     SmallVectorImpl<Value> &replacements) {
  GraphBuilder g(builder, getLoc());
  Dims dims(*this);
  Value x = emitWide(g, getOperand());
  Value mean = dims.mean(g, x);
  // Squares of the deviations: E[x^2] - E[x]^2 would cancel.
  Value deviation = g.sub(x, dims.fromRows(g, mean));
  Value variance = dims.mean(g, g.square(deviation));
  Value inverse = g.rsqrt(g.add(variance, getEpsilon().convertToDouble()));
  Value normalized = g.mul(deviation, dims.fromRows(g, inverse));
  Type wide = getElementTypeOrSelf(x.getType());
  Value scale = dims.fromNormalized(g, g.convert(getScale(), wide));
  Value bias = dims.fromNormalized(g, g.convert(getBias(), wide));
  Value y = g.add(g.mul(normalized, scale), bias);
  replacements.assign(
      {g.convert(y, getElementTypeOrSelf(getOperand().getType())), mean,
       inverse});
  return success();
}

LogicalResult LayerNormOp::differentiate(OpBuilder &builder,
                                         ValueRange resultCotangents,
                                         ArrayRef<bool> wanted,
                                         SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  Dims dims(*this);
  Value x = emitWide(g, getOperand());
  Type wide = getElementTypeOrSelf(x.getType());
  Value inverse = dims.fromRows(g, getInvStd());
  Value normalized = g.mul(g.sub(x, dims.fromRows(g, getMean())), inverse);
  SmallVector<int64_t> rows = llvm::to_vector(llvm::seq<int64_t>(0, dims.axis));
  cotangents.assign({nullptr, nullptr, nullptr});
  auto narrow = [&](Value cotangent, Value operand) {
    return g.convert(cotangent, getElementTypeOrSelf(operand.getType()));
  };
  Value dx;
  if (Value dy = resultCotangents[0]) {
    dy = emitWide(g, dy);
    // With h = dy * scale: dx = (h - mean(h) - normalized * mean(h *
    // normalized)) / std.
    if (wanted[0]) {
      Value h = g.mul(dy, dims.fromNormalized(g, g.convert(getScale(), wide)));
      Value meanH = dims.mean(g, h);
      Value meanProduct = dims.mean(g, g.mul(h, normalized));
      Value inner = g.sub(g.sub(h, dims.fromRows(g, meanH)),
                          g.mul(normalized, dims.fromRows(g, meanProduct)));
      dx = g.mul(inner, inverse);
    }
    if (wanted[1])
      cotangents[1] = narrow(g.sum(g.mul(dy, normalized), rows), getScale());
    if (wanted[2])
      cotangents[2] = narrow(g.sum(dy, rows), getBias());
  }
  auto accumulate = [&](Value part) { dx = dx ? g.add(dx, part) : part; };
  if (wanted[0] && resultCotangents[1])
    accumulate(dims.fromRows(g, g.mul(resultCotangents[1], 1 / dims.count)));
  // d(1/std)/dx = -normalized / (count * std^2)
  if (wanted[0] && resultCotangents[2]) {
    Value factor = g.mul(g.mul(resultCotangents[2], g.square(getInvStd())),
                         -1 / dims.count);
    accumulate(g.mul(normalized, dims.fromRows(g, factor)));
  }
  if (dx)
    cotangents[0] = narrow(dx, getOperand());
  return success();
}

LogicalResult LayerNormOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0], &scale = operands[1], &bias = operands[2];
  Dims dims(*this);
  HostTensor result(getResult().getType()), means(getMean().getType()),
      inverses(getInvStd().getType());
  int64_t count = static_cast<int64_t>(dims.count);
  for (int64_t row = 0; row < means.getNumElements(); ++row) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < count; ++i)
      mean += x.getDouble(row * count + i) / count;
    for (int64_t i = 0; i < count; ++i) {
      double deviation = x.getDouble(row * count + i) - mean;
      variance += deviation * deviation / count;
    }
    double inverse = 1 / std::sqrt(variance + getEpsilon().convertToDouble());
    means.setDouble(row, mean);
    inverses.setDouble(row, inverse);
    for (int64_t i = 0; i < count; ++i)
      result.setDouble(row * count + i, (x.getDouble(row * count + i) - mean) *
                                                inverse * scale.getDouble(i) +
                                            bias.getDouble(i));
  }
  results.append({result, means, inverses});
  return success();
}
