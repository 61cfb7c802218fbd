//===- GraphTakeTopK.cpp - take_top_k and scatter_rows -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both ends of top-k compression: what is taken out of rows, and what of all
// ranks is put into rows.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphIndexSupport.h"
#include "dialects/Graph/IR/RowSelector.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

//===----------------------------------------------------------------------===//
// take_top_k
//===----------------------------------------------------------------------===//

LogicalResult TakeTopKOp::inferReturnTypes(MLIRContext *context,
                                           std::optional<Location> loc,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  uint64_t k = adaptor.getK();
  if (failed(verifyTopK(getOperationName(), loc, type, k)))
    return failure();
  // Positions are i16.
  if (type.getShape().back() > 32768)
    return emitOptionalError(loc, "'", getOperationName(),
                             "' op expected a last dim of at most 32768 "
                             "elements, but got ",
                             type);
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = k;
  types.push_back(type.clone(shape));
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 16)));
  types.push_back(type);
  return success();
}

LogicalResult TakeTopKOp::verify() {
  Type element = getOperand().getType().getElementType();
  if (!element.isF32() && !element.isF64())
    return emitOpError("expected floats of 32 or 64 bits, but got ")
           << getOperand().getType();
  if (getLeft().getType() != getOperand().getType())
    return emitOpError("expected operands of one type, but got ")
           << getOperand().getType() << " and " << getLeft().getType();
  return success();
}

/// What was taken has no part in the rest.
LogicalResult TakeTopKOp::differentiate(OpBuilder &builder,
                                        ValueRange resultCotangents,
                                        ArrayRef<bool> wanted,
                                        SmallVectorImpl<Value> &cotangents) {
  Value taken = resultCotangents[0], rest = resultCotangents[2];
  cotangents.assign(2, Value());
  if (!taken && !rest)
    return success();
  GraphBuilder g(builder, getLoc());
  uint64_t axis = getOperand().getType().getRank() - 1;
  Value indices = g.convert(getIndices(), builder.getI64Type());
  Value updates = taken;
  if (rest) {
    Value kept = g.make<NegOp>(g.make<GatherElementsOp>(rest, indices, axis));
    updates = taken ? g.add(taken, kept) : kept;
  }
  Value onto = rest ? rest : g.zeros(getOperand().getType());
  Value sum =
      g.make<ScatterElementsOp>(ScatterKind::Add, onto, indices, updates, axis);
  for (unsigned i : {0, 1})
    if (wanted[i])
      cotangents[i] = sum;
  return success();
}

ShardingRule TakeTopKOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  auto type = getOperand().getType();
  unsigned last = type.getRank() - 1;
  for (unsigned d = 0; d < last; ++d)
    rule.factor(type.getDimSize(d), {ValueDim{0, d}, ValueDim{1, d}},
                {ValueDim{0, d}, ValueDim{1, d}, ValueDim{2, d}});
  rule.factor(type.getDimSize(last), {ValueDim{0, last}, ValueDim{1, last}},
              ValueDim{2, last}, FactorKind::NeedReplication);
  rule.factor(getK(), {}, {ValueDim{0, last}, ValueDim{1, last}},
              FactorKind::NeedReplication);
  return rule.build();
}

OpCost TakeTopKOp::getCost() {
  OpCost cost = getElementwiseCost(*this);
  cost.flops = getInstructions() * getOperand().getType().getNumElements();
  return cost;
}

/// It adds, makes keys and their maxima, and packs what may be taken.
double TakeTopKOp::getInstructions() { return 12; }

LogicalResult TakeTopKOp::evaluate(ArrayRef<HostTensor> operands,
                                   SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0], &left = operands[1];
  HostTensor values(getValues().getType()), indices(getIndices().getType()),
      rest(getRest().getType()), ordered(getRest().getType());
  for (int64_t i = 0; i < x.getNumElements(); ++i) {
    rest.setDouble(i, x.getDouble(i) + left.getDouble(i));
    ordered.setDouble(i, std::fabs(rest.getDouble(i)));
  }
  int64_t n = x.getShape().back(), k = getK();
  std::vector<int64_t> order(n);
  for (int64_t row = 0; row < x.getNumElements() / n; ++row) {
    std::iota(order.begin(), order.end(), row * n);
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [&](int64_t a, int64_t b) {
                        return isBeyond(ordered, a, b, /*above=*/true) ||
                               (a < b &&
                                !isBeyond(ordered, b, a, /*above=*/true));
                      });
    std::sort(order.begin(), order.begin() + k);
    for (int64_t j = 0; j < k; ++j) {
      double value = rest.getDouble(order[j]);
      values.setDouble(row * k + j, value);
      indices.setInt(row * k + j, order[j] - row * n);
      rest.setDouble(order[j], value - value);
    }
  }
  results.push_back(std::move(values));
  results.push_back(std::move(indices));
  results.push_back(std::move(rest));
  return success();
}

int64_t TakeTopKOp::getLoopRows() {
  auto type = getOperand().getType();
  return type.getRank() > 1 ? type.getDimSize(0) : 1;
}

namespace {
/// The sum is what is left until something is taken out of it.
class TakingSelector : public RowSelector {
public:
  TakingSelector(TakeTopKOp op, OpBuilder &builder, Location loc,
                 ValueRange operands, ValueRange results)
      : RowSelector(builder, loc, op.getOperand().getType().getElementType(),
                    op.getOperand().getType().getShape().back(), op.getK(),
                    {/*largest=*/true, /*magnitude=*/true}),
        operand(operands[0]), left(operands[1]), values(results[0]),
        indices(results[1]), rest(results[2]) {}

private:
  Value load(Value memory, Value i, int64_t lanes) {
    if (lanes == 1)
      return memref::LoadOp::create(builder, loc, memory, at(i));
    return emitLoadVector(builder, loc, memory, at(i), lanes, elementType);
  }
  Value read(Value i, int64_t lanes, bool first) override {
    if (!first)
      return load(rest, i, lanes);
    Value sum = elements.add(load(operand, i, lanes), load(left, i, lanes));
    if (lanes == 1)
      memref::StoreOp::create(builder, loc, sum, rest, at(i));
    else
      vector::StoreOp::create(builder, loc, sum, rest, at(i));
    return sum;
  }
  void take(Value i, Value number) override {
    Value taken = load(rest, i, 1);
    memref::StoreOp::create(builder, loc, taken, values, at(number));
    memref::StoreOp::create(
        builder, loc,
        keys.create<arith::IndexCastOp>(builder.getIntegerType(16), i), indices,
        at(number));
    memref::StoreOp::create(builder, loc, elements.sub(taken, taken), rest,
                            at(i));
  }

  Value operand, left, values, indices, rest;
};
} // namespace

LogicalResult TakeTopKOp::emitLoops(OpBuilder &builder, Location loc,
                                    ValueRange operands, ValueRange results,
                                    Value begin, Value end) {
  auto type = getOperand().getType();
  TakingSelector selector(*this, builder, loc, operands, results);
  emitLoopNest(
      builder, loc, type.getShape().drop_back(), {},
      [&](OpBuilder &, Location, ValueRange outer,
          ValueRange) -> SmallVector<Value> {
        selector.emit(outer);
        return {};
      },
      type.getRank() > 1 ? LoopRange{begin, end} : LoopRange());
  return success();
}

//===----------------------------------------------------------------------===//
// scatter_rows
//===----------------------------------------------------------------------===//

LogicalResult ScatterRowsOp::inferReturnTypes(MLIRContext *,
                                              std::optional<Location> loc,
                                              Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  auto updates = cast<RankedTensorType>(adaptor.getUpdates().getType());
  auto indices = cast<RankedTensorType>(adaptor.getIndices().getType());
  int64_t size = adaptor.getSize();
  if (updates.getRank() == 0 || updates.getShape() != indices.getShape() ||
      size < 1)
    return emitOptionalError(
        loc,
        "'graph.scatter_rows' op expected updates and indices of one shape, of "
        "at least one dim, and a positive size, but got ",
        updates, ", ", indices, " and ", size);
  SmallVector<int64_t> shape(updates.getShape());
  shape.back() = size;
  types.push_back(updates.clone(shape));
  return success();
}

LogicalResult ScatterRowsOp::differentiate(OpBuilder &builder,
                                           ValueRange resultCotangents,
                                           ArrayRef<bool> wanted,
                                           SmallVectorImpl<Value> &cotangents) {
  Value dy = resultCotangents[0];
  cotangents.assign(2, Value());
  if (dy && wanted[0])
    cotangents[0] =
        GatherElementsOp::create(builder, getLoc(), dy, getIndices(),
                                 uint64_t(getResult().getType().getRank() - 1));
  return success();
}

ShardingRule ScatterRowsOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  auto type = getUpdates().getType();
  unsigned last = type.getRank() - 1;
  for (unsigned d = 0; d < last; ++d)
    rule.factor(type.getDimSize(d), {ValueDim{0, d}, ValueDim{1, d}},
                ValueDim{0, d});
  rule.factor(getSize(), {}, ValueDim{0, last}, FactorKind::NeedReplication);
  rule.reduction(type.getDimSize(last), {ValueDim{0, last}, ValueDim{1, last}});
  rule.linear({0});
  return rule.build();
}

/// A zero, read again by what is computed from it.
double ScatterRowsOp::getInstructions() { return 2; }

LogicalResult ScatterRowsOp::evaluate(ArrayRef<HostTensor> operands,
                                      SmallVectorImpl<HostTensor> &results) {
  const HostTensor &updates = operands[0], &indices = operands[1];
  HostTensor result(getResult().getType());
  int64_t count = updates.getShape().back(), size = getSize();
  for (int64_t i = 0; i < updates.getNumElements(); ++i) {
    int64_t index = readIndex(*this, indices, i, size);
    if (index < 0)
      return failure();
    int64_t at = i / count * size + index;
    if (result.isFloat())
      result.setDouble(at, result.getDouble(at) + updates.getDouble(i));
    else
      result.setInt(at, result.getInt(at) + updates.getInt(i));
  }
  results.push_back(std::move(result));
  return success();
}

void ScatterRowsOp::emitRow(OpBuilder &builder, Location loc, ValueRange row,
                            ElementLoader load, Value memory) {
  ScalarBuilder b(builder, loc, getResult().getType());
  Value zero = b.constant(0);
  emitLoopNest(builder, loc, {int64_t(getSize())}, {},
               [&](OpBuilder &, Location, ValueRange i,
                   ValueRange) -> SmallVector<Value> {
                 memref::StoreOp::create(builder, loc, zero, memory, i);
                 return {};
               });
  auto type = getIndices().getType();
  emitLoopNest(builder, loc, {type.getShape().back()}, {},
               [&](OpBuilder &, Location, ValueRange i,
                   ValueRange) -> SmallVector<Value> {
                 SmallVector<Value> at(row);
                 at.push_back(i[0]);
                 Value update = load(0, at);
                 Value index = emitIndex(builder, loc, load(1, at),
                                         type.getElementType(), getSize());
                 Value old =
                     memref::LoadOp::create(builder, loc, memory, index);
                 memref::StoreOp::create(builder, loc, b.add(old, update),
                                         memory, index);
                 return {};
               });
}
