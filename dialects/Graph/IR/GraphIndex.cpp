//===- GraphIndex.cpp - gather, gather_elements, gather_nd -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphIndexSupport.h"
#include "dialects/Graph/IR/GraphRows.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

void GraphDialect::registerIndexOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Graph/IR/GraphIndexOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Graph/IR/GraphRowOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphIndexOps.cpp.inc"

/// Operand cotangent only, and only for floats: builds it with `fn`.
/// `scatter` adds updates to a tensor. Sums of types narrower than f32 are in
/// f32, and rounded once: a thousand ones added one by one are 256 in bf16.
static LogicalResult
pushGatherCotangent(GraphBuilder g, RankedTensorType type, Value dy,
                    ArrayRef<bool> wanted, SmallVectorImpl<Value> &cotangents,
                    llvm::function_ref<Value(Value, Value)> scatter) {
  auto element = dyn_cast<FloatType>(type.getElementType());
  Value sum;
  if (dy && wanted[0] && element) {
    Type wide = element.getWidth() < 32 ? FloatType(g.getBuilder().getF32Type())
                                        : element;
    sum = g.convert(scatter(g.zeros(type.clone(wide)), g.convert(dy, wide)),
                    element);
  }
  cotangents.push_back(sum);
  cotangents.push_back({});
  return success();
}

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  auto indices = cast<RankedTensorType>(adaptor.getIndices().getType());
  if (failed(verifyAxis(getOperationName(), loc, operand, adaptor.getAxis())))
    return failure();
  types.push_back(
      operand.clone(getSlicesShape(operand, indices, adaptor.getAxis())));
  return success();
}

LogicalResult GatherOp::differentiate(OpBuilder &builder,
                                      ValueRange resultCotangents,
                                      ArrayRef<bool> wanted,
                                      SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  return pushGatherCotangent(
      g, getOperand().getType(), resultCotangents[0], wanted, cotangents,
      [&](Value zeros, Value dy) -> Value {
        return g.make<ScatterAddOp>(zeros, getIndices(), dy, getAxis());
      });
}

ShardingRule GatherOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  auto operand = getOperand().getType(), indices = getIndices().getType();
  unsigned axis = getAxis(), count = indices.getRank();
  for (unsigned d = 0; d < operand.getRank(); ++d) {
    if (d == axis)
      rule.factor(operand.getDimSize(d), ValueDim{0, d}, {},
                  FactorKind::NeedReplication);
    else
      rule.factor(operand.getDimSize(d), ValueDim{0, d},
                  ValueDim{0, d < axis ? d : d - 1 + count});
  }
  for (unsigned d = 0; d < count; ++d)
    rule.factor(indices.getDimSize(d), ValueDim{1, d}, ValueDim{0, axis + d});
  rule.linear({0});
  return rule.build();
}

OpCost GatherOp::getCost() { return getGatherCost(*this); }

LogicalResult GatherOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0], &indices = operands[1];
  HostTensor result(getType());
  unsigned axis = getAxis(), count = indices.getShape().size();
  bool isGood = true;
  int64_t i = 0;
  forEachIndex(getType().getShape(), [&](ArrayRef<int64_t> index) {
    int64_t chosen =
        isGood ? readIndex(*this, indices,
                           indices.linearize(index.slice(axis, count)),
                           x.getShape()[axis])
               : -1;
    if (!(isGood &= chosen >= 0))
      return;
    SmallVector<int64_t> source(index.take_front(axis));
    source.push_back(chosen);
    llvm::append_range(source, index.drop_front(axis + count));
    copyElement(result, i++, x, x.linearize(source));
  });
  results.push_back(std::move(result));
  return success(isGood);
}

Value GatherOp::emitElement(OpBuilder &builder, Location loc, unsigned,
                            ValueRange indices, ElementLoader load) {
  unsigned axis = getAxis(), count = getIndices().getType().getRank();
  Value chosen = emitIndex(builder, loc, load(1, indices.slice(axis, count)),
                           getIndices().getType(),
                           getOperand().getType().getDimSize(axis));
  SmallVector<Value> source(indices.take_front(axis));
  source.push_back(chosen);
  llvm::append_range(source, indices.drop_front(axis + count));
  return load(0, source);
}

//===----------------------------------------------------------------------===//
// gather_elements
//===----------------------------------------------------------------------===//

LogicalResult GatherElementsOp::inferReturnTypes(MLIRContext *,
                                                 std::optional<Location> loc,
                                                 Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  auto indices = cast<RankedTensorType>(adaptor.getIndices().getType());
  uint64_t axis = adaptor.getAxis();
  if (failed(verifyAxis(getOperationName(), loc, operand, axis)))
    return failure();
  bool fits = indices.getRank() == operand.getRank();
  for (uint64_t d = 0; fits && d < uint64_t(operand.getRank()); ++d)
    fits &= d == axis || indices.getDimSize(d) <= operand.getDimSize(d);
  if (!fits)
    return emitOptionalError(
        loc,
        "'graph.gather_elements' op expected indices to have "
        "the operand's number of dims, and to be no larger "
        "in any but axis ",
        int64_t(axis), ", but got ", indices, " for ", operand);
  types.push_back(operand.clone(indices.getShape()));
  return success();
}

LogicalResult
GatherElementsOp::differentiate(OpBuilder &builder, ValueRange resultCotangents,
                                ArrayRef<bool> wanted,
                                SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  return pushGatherCotangent(
      g, getOperand().getType(), resultCotangents[0], wanted, cotangents,
      [&](Value zeros, Value dy) -> Value {
        return g.make<ScatterElementsOp>(ScatterKind::Add, zeros, getIndices(),
                                         dy, getAxis());
      });
}

ShardingRule GatherElementsOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  auto operand = getOperand().getType(), indices = getIndices().getType();
  for (unsigned d = 0; d < operand.getRank(); ++d) {
    if (d != getAxis() && operand.getDimSize(d) == indices.getDimSize(d)) {
      rule.factor(operand.getDimSize(d), {ValueDim{0, d}, ValueDim{1, d}},
                  ValueDim{0, d});
      continue;
    }
    rule.factor(operand.getDimSize(d), ValueDim{0, d}, {},
                FactorKind::NeedReplication);
    // Along the axis each index stands for itself; a dim that is cut short does
    // not (the operand's part would be another one).
    rule.factor(indices.getDimSize(d), ValueDim{1, d}, ValueDim{0, d},
                d == getAxis() ? FactorKind::PassThrough
                               : FactorKind::NeedReplication);
  }
  rule.linear({0});
  return rule.build();
}

OpCost GatherElementsOp::getCost() { return getGatherCost(*this); }

LogicalResult GatherElementsOp::evaluate(ArrayRef<HostTensor> operands,
                                         SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0], &indices = operands[1];
  HostTensor result(getType());
  bool isGood = true;
  int64_t i = 0;
  forEachIndex(getType().getShape(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index);
    int64_t chosen =
        isGood ? readIndex(*this, indices, i, x.getShape()[getAxis()]) : -1;
    if (!(isGood &= chosen >= 0))
      return;
    source[getAxis()] = chosen;
    copyElement(result, i++, x, x.linearize(source));
  });
  results.push_back(std::move(result));
  return success(isGood);
}

Value GatherElementsOp::emitElement(OpBuilder &builder, Location loc, unsigned,
                                    ValueRange indices, ElementLoader load) {
  SmallVector<Value> source(indices);
  source[getAxis()] =
      emitIndex(builder, loc, load(1, indices), getIndices().getType(),
                getOperand().getType().getDimSize(getAxis()));
  return load(0, source);
}

//===----------------------------------------------------------------------===//
// gather_nd
//===----------------------------------------------------------------------===//

LogicalResult GatherNDOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location> loc,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  FailureOr<SmallVector<int64_t>> shape = inferCoordinatesShape(
      getOperationName(), loc, operand,
      cast<RankedTensorType>(adaptor.getIndices().getType()),
      adaptor.getBatchDims());
  if (failed(shape))
    return failure();
  types.push_back(operand.clone(*shape));
  return success();
}

LogicalResult GatherNDOp::differentiate(OpBuilder &builder,
                                        ValueRange resultCotangents,
                                        ArrayRef<bool> wanted,
                                        SmallVectorImpl<Value> &cotangents) {
  GraphBuilder g(builder, getLoc());
  return pushGatherCotangent(
      g, getOperand().getType(), resultCotangents[0], wanted, cotangents,
      [&](Value zeros, Value dy) -> Value {
        return g.make<ScatterNDOp>(ScatterKind::Add, zeros, getIndices(), dy,
                                   getBatchDims());
      });
}

ShardingRule GatherNDOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  auto operand = getOperand().getType(), indices = getIndices().getType();
  unsigned batch = getBatchDims(), last = indices.getRank() - 1;
  unsigned count = indices.getShape().back();
  for (unsigned d = 0; d < last; ++d) {
    SmallVector<ValueDim, 2> operands = {{1, d}};
    if (d < batch)
      operands.push_back({0, d});
    rule.factor(indices.getDimSize(d), operands, ValueDim{0, d});
  }
  rule.factor(count, ValueDim{1, last}, {}, FactorKind::NeedReplication);
  for (unsigned d = batch; d < operand.getRank(); ++d) {
    if (d < batch + count)
      rule.factor(operand.getDimSize(d), ValueDim{0, d}, {},
                  FactorKind::NeedReplication);
    else
      rule.factor(operand.getDimSize(d), ValueDim{0, d},
                  ValueDim{0, last + d - batch - count});
  }
  rule.linear({0});
  return rule.build();
}

OpCost GatherNDOp::getCost() { return getGatherCost(*this); }

LogicalResult GatherNDOp::evaluate(ArrayRef<HostTensor> operands,
                                   SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0], &indices = operands[1];
  HostTensor result(getType());
  unsigned batch = getBatchDims(), last = indices.getShape().size() - 1;
  int64_t i = 0, count = indices.getShape().back();
  bool isGood = true;
  forEachIndex(getType().getShape(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index.take_front(batch));
    SmallVector<int64_t> coordinates(index.take_front(last));
    coordinates.push_back(0);
    int64_t first = indices.linearize(coordinates);
    for (int64_t c = 0; isGood && c < count; ++c) {
      source.push_back(
          readIndex(*this, indices, first + c, x.getShape()[batch + c]));
      isGood &= source.back() >= 0;
    }
    if (!isGood)
      return;
    llvm::append_range(source, index.drop_front(last));
    copyElement(result, i++, x, x.linearize(source));
  });
  results.push_back(std::move(result));
  return success(isGood);
}

Value GatherNDOp::emitElement(OpBuilder &builder, Location loc, unsigned,
                              ValueRange indices, ElementLoader load) {
  auto operand = getOperand().getType(), type = getIndices().getType();
  unsigned batch = getBatchDims(), last = type.getRank() - 1;
  ScalarBuilder b(builder, loc, type);
  SmallVector<Value> source(indices.take_front(batch));
  SmallVector<Value> coordinates(indices.take_front(last));
  coordinates.push_back({});
  for (int64_t c = 0; c < type.getShape().back(); ++c) {
    coordinates.back() = b.index(c);
    source.push_back(emitIndex(builder, loc, load(1, coordinates), type,
                               operand.getDimSize(batch + c)));
  }
  llvm::append_range(source, indices.drop_front(last));
  return load(0, source);
}
