//===- GraphSoftmax.cpp - softmax, log_softmax, cross_entropy -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphComposite.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

//===----------------------------------------------------------------------===//
// softmax and log_softmax
//===----------------------------------------------------------------------===//

template <typename OpT> static LogicalResult verifyAxis(OpT op) {
  int64_t axis = op.getAxis(), rank = op.getType().getRank();
  if (axis < 0 || axis >= rank)
    return op.emitOpError("expected axis in [0, ")
           << rank << "), but got " << axis;
  return success();
}
LogicalResult SoftmaxOp::verify() { return verifyAxis(*this); }
LogicalResult LogSoftmaxOp::verify() { return verifyAxis(*this); }

/// Every dim passes through, but for the one that is normalized.
static ShardingRule getSoftmaxRule(Operation *op, int64_t axis) {
  ShardingRuleBuilder rule(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  for (unsigned d = 0; d < type.getRank(); ++d)
    rule.factor(type.getDimSize(d), {{0, d}}, {{0, d}},
                d == axis ? FactorKind::NeedReplication
                          : FactorKind::PassThrough);
  return rule.build();
}
ShardingRule SoftmaxOp::getShardingRule() {
  return getSoftmaxRule(*this, getAxis());
}
ShardingRule LogSoftmaxOp::getShardingRule() {
  return getSoftmaxRule(*this, getAxis());
}

OpCost SoftmaxOp::getCost() { return getCompositeCost(*this, 5); }
OpCost LogSoftmaxOp::getCost() { return getCompositeCost(*this, 5); }

/// x minus its largest element along `axis`, in the statistics' type.
static Value emitShifted(GraphBuilder &g, Value x, int64_t axis) {
  Value wide = emitWide(g, x);
  ArrayRef<int64_t> shape = getShape(wide);
  Value max = g.reduce(Reduction::Max, wide, {axis});
  return g.sub(wide, g.broadcastOver(max, shape, {axis}));
}

std::optional<unsigned> SoftmaxOp::getDimTakenInParts() { return getAxis(); }
std::optional<unsigned> LogSoftmaxOp::getDimTakenInParts() { return getAxis(); }

LogicalResult SoftmaxOp::decompose(OpBuilder &builder,
                                   SmallVectorImpl<Value> &replacements) {
  GraphBuilder g(builder, getLoc());
  int64_t axis = getAxis();
  Value exp = g.exp(emitShifted(g, getOperand(), axis));
  Value sum = g.broadcastOver(g.sum(exp, {axis}), getShape(exp), {axis});
  replacements.push_back(
      g.convert(g.div(exp, sum), getType().getElementType()));
  return success();
}

LogicalResult LogSoftmaxOp::decompose(OpBuilder &builder,
                                      SmallVectorImpl<Value> &replacements) {
  GraphBuilder g(builder, getLoc());
  int64_t axis = getAxis();
  Value shifted = emitShifted(g, getOperand(), axis);
  Value log = g.log(g.sum(g.exp(shifted), {axis}));
  Value result =
      g.sub(shifted, g.broadcastOver(log, getShape(shifted), {axis}));
  replacements.push_back(g.convert(result, getType().getElementType()));
  return success();
}

LogicalResult SoftmaxOp::differentiate(OpBuilder &builder,
                                       ValueRange resultCotangents,
                                       ArrayRef<bool> wanted,
                                       SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  cotangents.assign({nullptr});
  if (!wanted[0])
    return success();
  // dx = y * (dy - sum(dy * y))
  int64_t axis = getAxis();
  Value y = emitWide(g, getResult()), dy = emitWide(g, resultCotangents[0]);
  Value sum = g.sum(g.mul(dy, y), {axis});
  Value dx = g.mul(y, g.sub(dy, g.broadcastOver(sum, getShape(y), {axis})));
  cotangents[0] = g.convert(dx, getType().getElementType());
  return success();
}

LogicalResult LogSoftmaxOp::differentiate(OpBuilder &builder,
                                          ValueRange resultCotangents,
                                          ArrayRef<bool> wanted,
                                          SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  cotangents.assign({nullptr});
  if (!wanted[0])
    return success();
  // dx = dy - exp(y) * sum(dy)
  int64_t axis = getAxis();
  Value y = emitWide(g, getResult()), dy = emitWide(g, resultCotangents[0]);
  Value sum = g.broadcastOver(g.sum(dy, {axis}), getShape(y), {axis});
  Value dx = g.sub(dy, g.mul(g.exp(y), sum));
  cotangents[0] = g.convert(dx, getType().getElementType());
  return success();
}

/// Calls `fn(row)` with the row-major positions of each row along `axis`.
static void forEachRow(RankedTensorType type, int64_t axis,
                       llvm::function_ref<void(ArrayRef<int64_t>)> fn) {
  int64_t inner = 1, size = type.getDimSize(axis);
  for (int64_t d = axis + 1; d < type.getRank(); ++d)
    inner *= type.getDimSize(d);
  int64_t numRows = size ? type.getNumElements() / size : 0;
  SmallVector<int64_t> row(size);
  for (int64_t r = 0; r < numRows; ++r) {
    for (int64_t k = 0; k < size; ++k)
      row[k] = (r / inner) * inner * size + k * inner + r % inner;
    fn(row);
  }
}

/// max + log(sum(exp(x - max))), and the maximum, of a row.
static std::pair<double, double> logSumExp(const HostTensor &x,
                                           ArrayRef<int64_t> row) {
  double max = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t i : row)
    max = std::isnan(x.getDouble(i)) || std::isnan(max)
              ? std::numeric_limits<double>::quiet_NaN()
              : std::max(max, x.getDouble(i));
  for (int64_t i : row)
    sum += std::exp(x.getDouble(i) - max);
  return {max, std::log(sum)};
}

LogicalResult SoftmaxOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  HostTensor result(getType());
  forEachRow(getType(), getAxis(), [&](ArrayRef<int64_t> row) {
    auto [max, log] = logSumExp(x, row);
    for (int64_t i : row)
      result.setDouble(i, std::exp(x.getDouble(i) - max) / std::exp(log));
  });
  results.push_back(result);
  return success();
}

LogicalResult LogSoftmaxOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  HostTensor result(getType());
  forEachRow(getType(), getAxis(), [&](ArrayRef<int64_t> row) {
    auto [max, log] = logSumExp(x, row);
    for (int64_t i : row)
      result.setDouble(i, x.getDouble(i) - max - log);
  });
  results.push_back(result);
  return success();
}

//===----------------------------------------------------------------------===//
// cross_entropy
//===----------------------------------------------------------------------===//

LogicalResult CrossEntropyOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &inferred) {
  auto logits = cast<RankedTensorType>(adaptor.getLogits().getType());
  auto labels = cast<RankedTensorType>(adaptor.getLabels().getType());
  if (logits.getRank() < 1)
    return emitOptionalError(location, "'graph.cross_entropy' op expected "
                                       "logits of at least one dim");
  if (labels.getShape() != logits.getShape().drop_back())
    return emitOptionalError(
        location, "'graph.cross_entropy' op expected labels of shape [",
        logits.getShape().drop_back(), "], but got [", labels.getShape(), "]");
  inferred.push_back(labels.clone(getStatisticsType(logits.getElementType())));
  return success();
}

ShardingRule CrossEntropyOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  ArrayRef<int64_t> shape = getLogits().getType().getShape();
  unsigned last = shape.size() - 1;
  for (unsigned d = 0; d < last; ++d)
    rule.factor(shape[d], {{0, d}, {1, d}}, {{0, d}});
  rule.factor(shape[last], {{0, last}}, {}, FactorKind::NeedReplication);
  return rule.build();
}

OpCost CrossEntropyOp::getCost() {
  OpCost cost = getElementwiseCost(*this);
  cost.flops = 5.0 * getLogits().getType().getNumElements();
  return cost;
}

/// Where an element of the logits is its row's label. A comparison fuses into
/// the loops around it; a gather or scatter would not. The classes' numbers are
/// of one dim: where the logits are split along it, so are they at no cost.
static Value emitIsLabel(GraphBuilder &g, Value labels,
                         ArrayRef<int64_t> shape) {
  Type i32 = g.getBuilder().getI32Type();
  int64_t last = shape.size() - 1;
  Value numbers = g.iota(RankedTensorType::get(shape[last], i32), 0);
  Value classes = g.broadcast(numbers, shape, {last});
  Value label = g.broadcastOver(g.convert(labels, i32), shape, {last});
  return g.compare(ComparePredicate::EQ, classes, label);
}

std::optional<unsigned> CrossEntropyOp::getDimTakenInParts() {
  return getLogits().getType().getRank() - 1;
}

LogicalResult CrossEntropyOp::decompose(OpBuilder &builder,
                                        SmallVectorImpl<Value> &replacements) {
  GraphBuilder g(builder, getLoc());
  ArrayRef<int64_t> shape = getLogits().getType().getShape();
  int64_t last = shape.size() - 1;
  Value shifted = emitShifted(g, getLogits(), last);
  Value log = g.log(g.sum(g.exp(shifted), {last}));
  Value isLabel = emitIsLabel(g, getLabels(), shape);
  Value picked =
      g.sum(g.select(isLabel, shifted, g.zeros(shifted.getType())), {last});
  Value loss = g.sub(log, picked);
  // A label that names no class picks nothing: say so instead of giving the
  // loss of a class with logit 0.
  Value label = g.convert(getLabels(), builder.getI64Type());
  Value valid = g.make<AndOp>(
      g.compare(ComparePredicate::GE, label, g.like(label, 0)),
      g.compare(ComparePredicate::LT, label, g.like(label, shape[last])));
  replacements.push_back(g.select(
      valid, loss, g.like(loss, std::numeric_limits<double>::quiet_NaN())));
  return success();
}

LogicalResult
CrossEntropyOp::differentiate(OpBuilder &builder, ValueRange resultCotangents,
                              ArrayRef<bool> wanted,
                              SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  cotangents.assign({nullptr, nullptr});
  if (!wanted[0])
    return success();
  // dlogits = (softmax(logits) - onehot(label)) * dy
  ArrayRef<int64_t> shape = getLogits().getType().getShape();
  int64_t last = shape.size() - 1;
  Value logits = emitWide(g, getLogits());
  Value softmax = g.make<SoftmaxOp>(logits, uint64_t(last));
  Value oneHot = g.select(emitIsLabel(g, getLabels(), shape),
                          g.like(softmax, 1), g.zeros(softmax.getType()));
  Value dy = g.broadcastOver(resultCotangents[0], shape, {last});
  cotangents[0] = g.convert(g.mul(g.sub(softmax, oneHot), dy),
                            getLogits().getType().getElementType());
  return success();
}

LogicalResult CrossEntropyOp::evaluate(ArrayRef<HostTensor> operands,
                                       SmallVectorImpl<HostTensor> &results) {
  const HostTensor &logits = operands[0], &labels = operands[1];
  RankedTensorType type = logits.getType();
  int64_t numClasses = type.getShape().back(), out = 0;
  HostTensor result(getType());
  forEachRow(type, type.getRank() - 1, [&](ArrayRef<int64_t> row) {
    auto [max, log] = logSumExp(logits, row);
    int64_t label = labels.getInt(out);
    bool valid = label >= 0 && label < numClasses;
    result.setDouble(out++, valid ? log - (logits.getDouble(row[label]) - max)
                                  : std::numeric_limits<double>::quiet_NaN());
  });
  results.push_back(result);
  return success();
}
