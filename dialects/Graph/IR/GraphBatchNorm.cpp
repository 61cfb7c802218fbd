//===- GraphBatchNorm.cpp - batch_norm, batch_norm_inference -*- C++ -*-===//
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

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

using NamedValue = std::pair<const char *, Value>;

static LogicalResult checkChannels(std::optional<Location> location,
                                   const char *op, RankedTensorType operand,
                                   int64_t axis, int64_t leastAxis,
                                   ArrayRef<NamedValue> perChannel) {
  if (axis < leastAxis || axis >= operand.getRank())
    return emitOptionalError(location, "'", op, "' op expected axis in [",
                             leastAxis, ", ", operand.getRank(), "), but got ",
                             axis);
  for (auto [name, value] : perChannel)
    if (getShape(value) != ArrayRef<int64_t>(operand.getDimSize(axis)))
      return emitOptionalError(
          location, "'", op, "' op expected ", name,
          " with an element for each of ", operand.getDimSize(axis),
          " channels, but got shape [", getShape(value), "]");
  return success();
}

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &inferred) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  int64_t axis = adaptor.getAxis(), groups = adaptor.getGroups();
  if (failed(checkChannels(
          location, "graph.batch_norm", operand, axis, 1,
          {{"scale", adaptor.getScale()}, {"bias", adaptor.getBias()}})))
    return failure();
  int64_t batch = operand.getDimSize(0);
  if (groups < 1 || batch % groups)
    return emitOptionalError(location,
                             "'graph.batch_norm' op expected groups to divide "
                             "the batch of ",
                             batch, ", but got ", groups);
  if (Value mask = adaptor.getMask();
      mask && getShape(mask) != ArrayRef<int64_t>(batch))
    return emitOptionalError(location,
                             "'graph.batch_norm' op expected mask with an "
                             "element for each of ",
                             batch, " examples, but got shape [",
                             getShape(mask), "]");
  Type element = getStatisticsType(operand.getElementType());
  auto statistics =
      RankedTensorType::get({groups, operand.getDimSize(axis)}, element);
  inferred.assign({operand, statistics, statistics,
                   RankedTensorType::get({groups}, element)});
  return success();
}

LogicalResult BatchNormInferenceOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &inferred) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  if (failed(checkChannels(location, "graph.batch_norm_inference", operand,
                           adaptor.getAxis(), 0,
                           {{"scale", adaptor.getScale()},
                            {"bias", adaptor.getBias()},
                            {"mean", adaptor.getMean()},
                            {"variance", adaptor.getVariance()}})))
    return failure();
  inferred.push_back(operand);
  return success();
}

//===----------------------------------------------------------------------===//
// Sharding and cost
//===----------------------------------------------------------------------===//

/// Channels pass through, and so do whole groups of examples: the batch is
/// (groups, examples of a group). The statistics need all that they are over.
ShardingRule BatchNormOp::getShardingRule() {
  using ValueDim = ShardingRuleBuilder::ValueDim;
  ShardingRuleBuilder rule(*this);
  ArrayRef<int64_t> shape = getShape(getOperand());
  int64_t groups = getGroups();
  SmallVector<ValueDim> batch = {{0, 0}};
  if (getMask())
    batch.push_back({3, 0});
  // Factor 0: `partition` divides the groups by its shards.
  rule.factor(groups, batch, {{0, 0}, {1, 0}, {2, 0}, {3, 0}});
  rule.factor(shape[0] / groups, batch, {{0, 0}}, FactorKind::NeedReplication);
  for (unsigned d = 1; d < shape.size(); ++d) {
    if (d == getAxis())
      rule.factor(shape[d], {{0, d}, {1, 0}, {2, 0}}, {{0, d}, {1, 1}, {2, 1}});
    else
      rule.factor(shape[d], {{0, d}}, {{0, d}}, FactorKind::NeedReplication);
  }
  return rule.build();
}

FailureOr<Operation *> BatchNormOp::partition(OpBuilder &builder,
                                              ValueRange operands,
                                              TypeRange resultTypes,
                                              ArrayRef<int64_t> factorShards) {
  FailureOr<Operation *> local =
      cloneWithLocalTypes(*this, builder, operands, resultTypes);
  if (succeeded(local))
    cast<BatchNormOp>(*local).setGroups(getGroups() / factorShards[0]);
  return local;
}

ShardingRule BatchNormInferenceOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  for (auto [d, size] : llvm::enumerate(getShape(getOperand()))) {
    unsigned dim = d;
    if (dim == getAxis())
      rule.factor(size, {{0, dim}, {1, 0}, {2, 0}, {3, 0}, {4, 0}}, {{0, dim}});
    else
      rule.factor(size, {{0, dim}}, {{0, dim}});
  }
  return rule.build();
}

OpCost BatchNormOp::getCost() { return getCompositeCost(*this, 7); }
OpCost BatchNormInferenceOp::getCost() { return getCompositeCost(*this, 2); }

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

namespace {
/// The op with its batch seen as (groups, examples of a group), the groups' dim
/// left out when there is one group: statistics are then [C], else [groups, C].
struct Grouped {
  Grouped(GraphBuilder &g, BatchNormOp op)
      : g(g), op(op), groups(op.getGroups()), axis(op.getAxis()) {
    ArrayRef<int64_t> whole = getShape(op.getOperand());
    shape = SmallVector<int64_t>(whole);
    if (groups > 1) {
      shape[0] = groups;
      shape.insert(shape.begin() + 1, whole[0] / groups);
      ++axis;
      kept = {0, axis};
    } else {
      kept = {axis};
    }
    for (int64_t d = 0, e = shape.size(); d < e; ++d)
      if (!llvm::is_contained(kept, d)) {
        reduced.push_back(d);
        count *= shape[d];
      }
    countAnExample = count * groups / whole[0];
    wide = getStatisticsType(getElementTypeOrSelf(op.getOperand().getType()));
  }

  Value view(Value x) { return g.reshape(g.convert(x, wide), shape); }
  Value unview(Value x) {
    Value whole = g.reshape(x, getShape(op.getOperand()));
    return g.convert(whole, getElementTypeOrSelf(op.getOperand().getType()));
  }
  /// Sum over all that a group's statistics are over.
  Value sum(Value x) { return g.sum(x, reduced); }
  /// A statistic for every element.
  Value spread(Value x) { return g.broadcast(x, shape, kept); }
  /// scale or bias for every element.
  Value spreadChannels(Value x) {
    return g.broadcast(g.convert(x, wide), shape, {axis});
  }
  /// The op's [groups, C] statistics as `sum` gives them, and back.
  Value fromResult(Value x) {
    return g.reshape(x, groups > 1 ? getShape(x) : getShape(x).drop_front());
  }
  Value toResult(Value x) { return g.reshape(x, getShape(op.getMean())); }
  /// Which elements count, or null if all do.
  Value getMask() {
    if (!op.getMask())
      return nullptr;
    if (groups == 1)
      return g.broadcast(op.getMask(), shape, {0});
    return g.broadcast(g.reshape(op.getMask(), {groups, shape[1]}), shape,
                       {0, 1});
  }
  /// The number of elements behind each group's statistics, [groups].
  Value getCount() {
    auto type = RankedTensorType::get({groups}, wide);
    if (!op.getMask())
      return g.splat(type, count);
    Value ones = g.reshape(g.convert(op.getMask(), wide),
                           {groups, getShape(op.getMask())[0] / groups});
    return g.mul(g.sum(ones, {1}), countAnExample);
  }
  /// 1 / count for each statistic; 1 for a group of none, whose sums are 0.
  Value getInverseCount(Value count) {
    if (!op.getMask())
      return nullptr;
    Value inverse = g.div(g.like(count, 1), g.max(count, g.like(count, 1)));
    ArrayRef<int64_t> statistics = ArrayRef<int64_t>(getShape(op.getMean()))
                                       .drop_front(groups > 1 ? 0 : 1);
    if (groups == 1)
      return g.broadcastScalar(g.reshape(inverse, {}), statistics);
    return g.broadcast(inverse, statistics, {0});
  }
  /// Sums divided by the count.
  Value divideByCount(Value sums, Value inverseCount) {
    return inverseCount ? g.mul(sums, inverseCount) : g.mul(sums, 1 / count);
  }

  GraphBuilder &g;
  BatchNormOp op;
  int64_t groups, axis;
  SmallVector<int64_t> shape, kept, reduced;
  double count = 1, countAnExample = 1;
  Type wide;
};
} // namespace

LogicalResult BatchNormOp::decompose(OpBuilder &builder,
                                     SmallVectorImpl<Value> &replacements) {
  GraphBuilder g(builder, getLoc());
  Grouped grouped(g, *this);
  Value x = grouped.view(getOperand()), mask = grouped.getMask();
  Value count = grouped.getCount();
  Value inverseCount = grouped.getInverseCount(count);
  Value zero = mask ? g.zeros(x.getType()) : Value();
  auto mean = [&](Value elements) {
    Value counted = mask ? g.select(mask, elements, zero) : elements;
    return grouped.divideByCount(grouped.sum(counted), inverseCount);
  };
  Value average = mean(x);
  // Squares of the deviations: E[x^2] - E[x]^2 would cancel.
  Value deviation = g.sub(x, grouped.spread(average));
  Value variance = mean(g.square(deviation));
  Value inverse = g.rsqrt(g.add(variance, getEpsilon().convertToDouble()));
  // The factor of a channel is made once, not for every element.
  Value scale = g.convert(getScale(), grouped.wide);
  if (grouped.groups > 1)
    scale = g.broadcast(scale, getShape(inverse), {1});
  Value factor = grouped.spread(g.mul(inverse, scale));
  Value y = g.add(g.mul(deviation, factor), grouped.spreadChannels(getBias()));
  replacements.assign({grouped.unview(y), grouped.toResult(average),
                       grouped.toResult(variance), count});
  return success();
}

LogicalResult BatchNormOp::differentiate(OpBuilder &builder,
                                         ValueRange resultCotangents,
                                         ArrayRef<bool> wanted,
                                         SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  Grouped grouped(g, *this);
  cotangents.assign(getNumOperands(), nullptr);
  Value dy = resultCotangents[0], dMean = resultCotangents[1],
        dVariance = resultCotangents[2];
  if (!dy && !dMean && !dVariance)
    return success();
  Value x = grouped.view(getOperand()), mask = grouped.getMask();
  Value inverseCount = grouped.getInverseCount(grouped.getCount());
  Value variance = grouped.fromResult(getVariance());
  Value inverse = g.rsqrt(g.add(variance, getEpsilon().convertToDouble()));
  Value deviation = g.sub(x, grouped.spread(grouped.fromResult(getMean())));
  auto narrow = [&](Value cotangent, Value operand) {
    return g.convert(cotangent, getElementTypeOrSelf(operand.getType()));
  };
  auto overGroups = [&](Value statistic) {
    return grouped.groups > 1 ? g.sum(statistic, {0}) : statistic;
  };
  // A masked example has no part in the statistics, and so takes no part of
  // what flows back through them; its own output still depends on them.
  auto onlyCounted = [&](Value elements) {
    return mask ? g.select(mask, elements, g.zeros(elements.getType()))
                : elements;
  };
  Value dx;
  if (dy) {
    dy = grouped.view(dy);
    Value normalized = g.mul(deviation, grouped.spread(inverse));
    Value sumDy = grouped.sum(dy);
    Value sumProduct = grouped.sum(g.mul(dy, normalized));
    if (wanted[1])
      cotangents[1] = narrow(overGroups(sumProduct), getScale());
    if (wanted[2])
      cotangents[2] = narrow(overGroups(sumDy), getBias());
    // dx = scale / std * (dy - (sum(dy) + normalized * sum(dy * normalized)) /
    // count)
    if (wanted[0]) {
      Value scale = g.convert(getScale(), grouped.wide);
      if (grouped.groups > 1)
        scale = g.broadcast(scale, getShape(inverse), {1});
      Value shared =
          g.add(grouped.spread(grouped.divideByCount(sumDy, inverseCount)),
                g.mul(normalized, grouped.spread(grouped.divideByCount(
                                      sumProduct, inverseCount))));
      dx = g.mul(g.sub(dy, onlyCounted(shared)),
                 grouped.spread(g.mul(inverse, scale)));
    }
  }
  auto accumulate = [&](Value part) {
    part = onlyCounted(part);
    dx = dx ? g.add(dx, part) : part;
  };
  if (wanted[0] && dMean)
    accumulate(grouped.spread(
        grouped.divideByCount(grouped.fromResult(dMean), inverseCount)));
  if (wanted[0] && dVariance)
    accumulate(g.mul(deviation, grouped.spread(grouped.divideByCount(
                                    g.mul(grouped.fromResult(dVariance), 2),
                                    inverseCount))));
  if (dx)
    cotangents[0] = grouped.unview(dx);
  return success();
}

LogicalResult
BatchNormInferenceOp::decompose(OpBuilder &builder,
                                SmallVectorImpl<Value> &replacements) {
  GraphBuilder g(builder, getLoc());
  Value x = emitWide(g, getOperand());
  Type wide = getElementTypeOrSelf(x.getType());
  int64_t axis = getAxis();
  auto spread = [&](Value channel) {
    return g.broadcast(channel, getShape(x), {axis});
  };
  Value inverse = g.rsqrt(
      g.add(g.convert(getVariance(), wide), getEpsilon().convertToDouble()));
  Value factor = g.mul(inverse, g.convert(getScale(), wide));
  Value deviation = g.sub(x, spread(g.convert(getMean(), wide)));
  Value y = g.add(g.mul(deviation, spread(factor)),
                  spread(g.convert(getBias(), wide)));
  replacements.push_back(g.convert(y, getType().getElementType()));
  return success();
}

LogicalResult BatchNormInferenceOp::differentiate(
    OpBuilder &builder, ValueRange resultCotangents, ArrayRef<bool> wanted,
    SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  int64_t axis = getAxis();
  Value x = emitWide(g, getOperand()), dy = emitWide(g, resultCotangents[0]);
  Type wide = getElementTypeOrSelf(x.getType());
  auto spread = [&](Value channel) {
    return g.broadcast(channel, getShape(x), {axis});
  };
  SmallVector<int64_t> others;
  for (int64_t d = 0, e = getShape(x).size(); d < e; ++d)
    if (d != axis)
      others.push_back(d);
  auto narrow = [&](Value cotangent, Value operand) {
    return g.convert(cotangent, getElementTypeOrSelf(operand.getType()));
  };
  cotangents.assign(5, nullptr);
  Value inverse = g.rsqrt(
      g.add(g.convert(getVariance(), wide), getEpsilon().convertToDouble()));
  Value scale = g.convert(getScale(), wide);
  Value factor = g.mul(inverse, scale);
  if (wanted[0])
    cotangents[0] = narrow(g.mul(dy, spread(factor)), getOperand());
  Value sumDy = wanted[2] || wanted[3] ? g.sum(dy, others) : Value();
  if (wanted[2])
    cotangents[2] = narrow(sumDy, getBias());
  if (wanted[3])
    cotangents[3] = narrow(g.neg(g.mul(sumDy, factor)), getMean());
  if (!wanted[1] && !wanted[4])
    return success();
  Value deviation = g.sub(x, spread(g.convert(getMean(), wide)));
  Value product = g.mul(g.sum(g.mul(dy, deviation), others), inverse);
  if (wanted[1])
    cotangents[1] = narrow(product, getScale());
  // d(1/std)/dvariance = -1 / (2 std^3)
  if (wanted[4])
    cotangents[4] =
        narrow(g.mul(g.mul(g.mul(product, scale), g.square(inverse)), -0.5),
               getVariance());
  return success();
}

//===----------------------------------------------------------------------===//
// Reference
//===----------------------------------------------------------------------===//

LogicalResult BatchNormOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0], &scale = operands[1], &bias = operands[2];
  HostTensor result(getResult().getType()), means(getMean().getType()),
      variances(getVariance().getType()), counts(getCount().getType());
  int64_t axis = getAxis(), groups = getGroups();
  int64_t channels = x.getShape()[axis], batch = x.getShape()[0];
  // Calls `fn(position, statistic, channel, counts)` for every element.
  auto forEachElement = [&](auto fn) {
    int64_t position = 0;
    forEachIndex(x.getShape(), [&](ArrayRef<int64_t> index) {
      int64_t group = index[0] / (batch / groups);
      fn(position++, group * channels + index[axis], index[axis],
         operands.size() < 4 || operands[3].getInt(index[0]) != 0);
    });
  };
  std::vector<double> mean(groups * channels), variance(mean), count(mean);
  forEachElement([&](int64_t i, int64_t at, int64_t, bool counted) {
    if (!counted)
      return;
    mean[at] += x.getDouble(i);
    ++count[at];
  });
  for (auto [sum, n] : llvm::zip(mean, count))
    sum /= std::max(n, 1.0);
  forEachElement([&](int64_t i, int64_t at, int64_t, bool counted) {
    double deviation = x.getDouble(i) - mean[at];
    if (counted)
      variance[at] += deviation * deviation / count[at];
  });
  forEachElement([&](int64_t i, int64_t at, int64_t channel, bool) {
    double inverse =
        1 / std::sqrt(variance[at] + getEpsilon().convertToDouble());
    result.setDouble(i, (x.getDouble(i) - mean[at]) * inverse *
                                scale.getDouble(channel) +
                            bias.getDouble(channel));
  });
  for (int64_t i = 0; i < groups * channels; ++i) {
    means.setDouble(i, mean[i]);
    variances.setDouble(i, variance[i]);
  }
  for (int64_t group = 0; group < groups && channels > 0; ++group)
    counts.setDouble(group, count[group * channels]);
  results.append({result, means, variances, counts});
  return success();
}

LogicalResult
BatchNormInferenceOp::evaluate(ArrayRef<HostTensor> operands,
                               SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  HostTensor result(getType());
  int64_t position = 0;
  forEachIndex(x.getShape(), [&](ArrayRef<int64_t> index) {
    int64_t c = index[getAxis()];
    double inverse = 1 / std::sqrt(operands[4].getDouble(c) +
                                   getEpsilon().convertToDouble());
    double value = (x.getDouble(position) - operands[3].getDouble(c)) *
                       inverse * operands[1].getDouble(c) +
                   operands[2].getDouble(c);
    result.setDouble(position++, value);
  });
  results.push_back(result);
  return success();
}
