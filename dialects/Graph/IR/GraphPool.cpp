//===- GraphPool.cpp - Pools: types, derivatives, rules -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphPool.h"
#include "dialects/Graph/IR/GraphBuilder.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

LogicalResult mlir::dist::graph::checkWindowList(
    ArrayRef<int64_t> list, int64_t rank, StringRef dims, int64_t least,
    StringRef name, llvm::function_ref<LogicalResult(const Twine &)> fail) {
  constexpr int64_t most = 1 << 24;
  if (static_cast<int64_t>(list.size()) != rank)
    return fail(Twine("expected ") + name + " with an entry for each of " +
                Twine(rank) + " " + dims + ", but got " + Twine(list.size()));
  for (int64_t value : list)
    if (value < least || value > most)
      return fail(Twine("expected ") + name + " of at " +
                  (value < least ? "least " : "most ") +
                  Twine(value < least ? least : most) + ", but got " +
                  Twine(value));
  return success();
}

LogicalResult
WindowShape::setSizes(RankedTensorType operand,
                      llvm::function_ref<LogicalResult(const Twine &)> fail) {
  auto checkList = [&](ArrayRef<int64_t> list, int64_t least, StringRef name) {
    return checkWindowList(list, operand.getRank(), "dims", least, name, fail);
  };
  if (failed(checkList(window, 1, "window")) ||
      failed(checkList(strides, 1, "strides")) ||
      failed(checkList(dilations, 1, "dilations")) ||
      failed(checkList(padLow, 0, "pad_low")) ||
      failed(checkList(padHigh, 0, "pad_high")))
    return failure();
  operandSizes = SmallVector<int64_t>(operand.getShape());
  for (unsigned d = 0; d < operandSizes.size(); ++d) {
    int64_t padded = operandSizes[d] + padLow[d] + padHigh[d];
    if (padded < getExtent(d))
      return fail(Twine("expected the padded operand to be at least as large "
                        "as the dilated window in dim ") +
                  Twine(d) + ", but got " + Twine(padded) + " and " +
                  Twine(getExtent(d)));
    resultSizes.push_back((padded - getExtent(d)) / strides[d] + 1);
  }
  return success();
}

LogicalResult MaxPoolOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &inferred) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  FailureOr<WindowShape> shape =
      WindowShape::get(adaptor, operand, [&](const Twine &message) {
        return emitOptionalError(location, "'graph.max_pool' op ", message);
      });
  if (failed(shape))
    return failure();
  inferred.push_back(operand.clone(shape->resultSizes));
  inferred.push_back(
      RankedTensorType::get(shape->resultSizes, IntegerType::get(context, 32)));
  return success();
}

LogicalResult AvgPoolOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &inferred) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  FailureOr<WindowShape> shape =
      WindowShape::get(adaptor, operand, [&](const Twine &message) {
        return emitOptionalError(location, "'graph.avg_pool' op ", message);
      });
  if (failed(shape))
    return failure();
  inferred.push_back(operand.clone(shape->resultSizes));
  return success();
}

template <typename OpT> static LogicalResult verifyGradient(OpT op) {
  FailureOr<WindowShape> shape =
      WindowShape::get(op, op.getType(), [&](const Twine &message) {
        return op.emitOpError(message);
      });
  if (failed(shape))
    return failure();
  RankedTensorType expected = op.getType().clone(shape->resultSizes);
  if (op.getGrad().getType() != expected)
    return op.emitOpError("expected grad of the pool's result type ")
           << expected << ", but got " << op.getGrad().getType();
  return success();
}

LogicalResult MaxPoolGradOp::verify() {
  if (failed(verifyGradient(*this)))
    return failure();
  RankedTensorType expected =
      getGrad().getType().clone(IntegerType::get(getContext(), 32));
  if (getIndices().getType() != expected)
    return emitOpError("expected indices of type ")
           << expected << ", but got " << getIndices().getType();
  return success();
}
LogicalResult AvgPoolGradOp::verify() { return verifyGradient(*this); }

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

LogicalResult MaxPoolOp::differentiate(OpBuilder &builder,
                                       ValueRange resultCotangents,
                                       ArrayRef<bool> wanted,
                                       SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  bool isFloat = isa<FloatType>(getResult().getType().getElementType());
  Value dy = resultCotangents[0];
  cotangents.assign({nullptr});
  if (wanted[0] && dy && isFloat)
    cotangents[0] = g.make<MaxPoolGradOp>(getOperand().getType(), dy,
                                          getIndices(), getWindowAttr(),
                                          getStridesAttr(), getDilationsAttr(),
                                          getPadLowAttr(), getPadHighAttr());
  return success();
}

/// The gradient copies each window's cotangent to one element, so its
/// derivative reads the cotangent at that element: for each position in the
/// window, a strided slice, of which the windows with that index take theirs.
LogicalResult MaxPoolGradOp::differentiate(OpBuilder &builder,
                                           ValueRange resultCotangents,
                                           ArrayRef<bool> wanted,
                                           SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  cotangents.assign({nullptr, nullptr});
  if (!wanted[0])
    return success();
  WindowShape shape = WindowShape::get(*this, getResult());
  Value padded = resultCotangents[0];
  if (shape.reachesPadding()) {
    SmallVector<int64_t> interior(shape.getRank(), 0);
    padded = g.make<PadOp>(padded, g.scalar(getType().getElementType(), 0),
                           getPadLow(), getPadHigh(), interior);
  }
  Value zero = g.zeros(getGrad().getType()), sum = zero;
  int64_t position = 0;
  forEachIndex(getWindow(), [&](ArrayRef<int64_t> tap) {
    SmallVector<int64_t> starts, limits;
    for (unsigned d = 0; d < shape.getRank(); ++d) {
      starts.push_back(tap[d] * shape.dilations[d]);
      limits.push_back(starts[d] +
                       (shape.resultSizes[d] - 1) * shape.strides[d] + 1);
    }
    Value slice = g.make<SliceOp>(padded, starts, limits, getStrides());
    Value chosen = g.compare(ComparePredicate::EQ, getIndices(),
                             g.splat(getIndices().getType(), double(position)));
    Value part = g.select(chosen, slice, zero);
    sum = position == 0 ? part : g.add(sum, part);
    ++position;
  });
  cotangents[0] = sum;
  return success();
}

LogicalResult AvgPoolOp::differentiate(OpBuilder &builder,
                                       ValueRange resultCotangents,
                                       ArrayRef<bool> wanted,
                                       SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  cotangents.assign({nullptr});
  if (wanted[0])
    cotangents[0] = g.make<AvgPoolGradOp>(
        getOperand().getType(), resultCotangents[0], getWindowAttr(),
        getStridesAttr(), getDilationsAttr(), getPadLowAttr(), getPadHighAttr(),
        getCountIncludePadAttr());
  return success();
}

LogicalResult AvgPoolGradOp::differentiate(OpBuilder &builder,
                                           ValueRange resultCotangents,
                                           ArrayRef<bool> wanted,
                                           SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  cotangents.assign({nullptr});
  if (wanted[0])
    cotangents[0] =
        g.make<AvgPoolOp>(resultCotangents[0], getWindowAttr(),
                          getStridesAttr(), getDilationsAttr(), getPadLowAttr(),
                          getPadHighAttr(), getCountIncludePadAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// Sharding and cost
//===----------------------------------------------------------------------===//

/// Dims that no window reaches pass through; of the others, neighbours would
/// be needed. A gradient has the small shape in its operands.
static ShardingRule getPoolRule(Operation *op, const WindowShape &shape,
                                bool gradient,
                                std::optional<unsigned> linearOperand) {
  using ValueDim = ShardingRuleBuilder::ValueDim;
  ShardingRuleBuilder rule(op);
  for (unsigned d = 0; d < shape.getRank(); ++d) {
    SmallVector<ValueDim> operands, results;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      operands.push_back({i, d});
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      results.push_back({i, d});
    if (shape.isPointwise(d)) {
      rule.factor(shape.operandSizes[d], operands, results);
      continue;
    }
    int64_t operandSize =
        gradient ? shape.resultSizes[d] : shape.operandSizes[d];
    int64_t resultSize =
        gradient ? shape.operandSizes[d] : shape.resultSizes[d];
    rule.factor(operandSize, operands, {}, FactorKind::Permutation);
    rule.factor(resultSize, {}, results, FactorKind::Permutation);
  }
  if (linearOperand)
    rule.linear({*linearOperand});
  return rule.build();
}

ShardingRule MaxPoolOp::getShardingRule() {
  return getPoolRule(*this, WindowShape::get(*this, getOperand()), false,
                     std::nullopt);
}
ShardingRule MaxPoolGradOp::getShardingRule() {
  return getPoolRule(*this, WindowShape::get(*this, getResult()), true, 0);
}
ShardingRule AvgPoolOp::getShardingRule() {
  return getPoolRule(*this, WindowShape::get(*this, getOperand()), false, 0);
}
ShardingRule AvgPoolGradOp::getShardingRule() {
  return getPoolRule(*this, WindowShape::get(*this, getResult()), true, 0);
}

/// One comparison or addition an element of a window.
static OpCost getPoolCost(Operation *op, const WindowShape &shape) {
  OpCost cost = getElementwiseCost(op);
  cost.flops = shape.getNumElements();
  for (int64_t size : shape.resultSizes)
    cost.flops *= size;
  return cost;
}
OpCost MaxPoolOp::getCost() {
  return getPoolCost(*this, WindowShape::get(*this, getOperand()));
}
OpCost MaxPoolGradOp::getCost() {
  return getPoolCost(*this, WindowShape::get(*this, getResult()));
}
OpCost AvgPoolOp::getCost() {
  return getPoolCost(*this, WindowShape::get(*this, getOperand()));
}
OpCost AvgPoolGradOp::getCost() {
  return getPoolCost(*this, WindowShape::get(*this, getResult()));
}
