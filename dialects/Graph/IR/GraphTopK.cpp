//===- GraphTopK.cpp - top_k -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What RowSelector takes of a row is sorted in place.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/RowSelector.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

//===----------------------------------------------------------------------===//
// top_k
//===----------------------------------------------------------------------===//

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location> loc,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  uint64_t k = adaptor.getK();
  if (failed(verifyTopK(getOperationName(), loc, type, k)))
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = k;
  types.push_back(type.clone(shape));
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 64)));
  return success();
}

LogicalResult TopKOp::verify() {
  if (getMagnitude() && !isa<FloatType>(getElementTypeOrSelf(getOperand())))
    return emitOpError("expected floats to order by magnitude, but got ")
           << getOperand().getType();
  return success();
}

LogicalResult TopKOp::differentiate(OpBuilder &builder,
                                    ValueRange resultCotangents,
                                    ArrayRef<bool> wanted,
                                    SmallVectorImpl<Value> &cotangents) {
  Value dy = resultCotangents[0];
  auto type = getOperand().getType();
  if (!dy || !wanted[0] || !isa<FloatType>(type.getElementType())) {
    cotangents.push_back({});
    return success();
  }
  GraphBuilder g(builder, getLoc());
  cotangents.push_back(
      g.make<ScatterElementsOp>(ScatterKind::Add, g.zeros(type), getIndices(),
                                dy, uint64_t(type.getRank() - 1)));
  return success();
}

ShardingRule TopKOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  auto type = getOperand().getType();
  unsigned last = type.getRank() - 1;
  for (unsigned d = 0; d < last; ++d)
    rule.factor(type.getDimSize(d), ValueDim{0, d},
                {ValueDim{0, d}, ValueDim{1, d}});
  rule.factor(type.getDimSize(last), ValueDim{0, last}, {},
              FactorKind::NeedReplication);
  rule.factor(getK(), {}, {ValueDim{0, last}, ValueDim{1, last}},
              FactorKind::NeedReplication);
  return rule.build();
}

/// Passes over a row until the k-th largest key is known, about: all bits of
/// them only where elements are nearly equal.
static constexpr double kPasses = 16;

OpCost TopKOp::getCost() {
  OpCost cost = getElementwiseCost(*this);
  cost.flops = kPasses * getOperand().getType().getNumElements();
  return cost;
}

/// A pass loads, compares and counts.
double TopKOp::getInstructions() { return 3 * kPasses; }

LogicalResult TopKOp::evaluate(ArrayRef<HostTensor> operands,
                               SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  HostTensor values(getValues().getType()), indices(getIndices().getType());
  int64_t n = x.getShape().back(), k = getK();
  HostTensor ordered = x;
  if (getMagnitude())
    for (int64_t i = 0; i < x.getNumElements(); ++i)
      ordered.setDouble(i, std::fabs(x.getDouble(i)));
  // NaN is above every number: the smallest are numbers first.
  auto beats = [&](int64_t a, int64_t b) {
    return getLargest() ? isBeyond(ordered, a, b, /*above=*/true)
                        : isBeyond(ordered, b, a, /*above=*/true);
  };
  std::vector<int64_t> order(n);
  for (int64_t row = 0, rows = x.getNumElements() / std::max<int64_t>(n, 1);
       row < rows; ++row) {
    std::iota(order.begin(), order.end(), row * n);
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [&](int64_t a, int64_t b) {
                        return beats(a, b) || (a < b && !beats(b, a));
                      });
    if (!getSorted())
      std::sort(order.begin(), order.begin() + k);
    for (int64_t j = 0; j < k; ++j) {
      copyElement(values, row * k + j, x, order[j]);
      indices.setInt(row * k + j, order[j] - row * n);
    }
  }
  results.push_back(std::move(values));
  results.push_back(std::move(indices));
  return success();
}

int64_t TopKOp::getLoopRows() {
  auto type = getOperand().getType();
  return type.getRank() > 1 ? type.getDimSize(0) : 1;
}

namespace {
class TopKSelector : public RowSelector {
public:
  TopKSelector(TopKOp op, OpBuilder &builder, Location loc, ValueRange operands,
               ValueRange results)
      : RowSelector(builder, loc, op.getOperand().getType().getElementType(),
                    op.getOperand().getType().getShape().back(), op.getK(),
                    {op.getLargest(), op.getMagnitude()}),
        operand(operands[0]), values(results[0]), indices(results[1]) {}

  void emitSort();

private:
  Value read(Value i, int64_t lanes, bool) override {
    return lanes == 1 ? emitLoad(builder, loc, operand, at(i), elementType)
                      : emitLoadVector(builder, loc, operand, at(i), lanes,
                                       elementType);
  }
  void take(Value i, Value number) override {
    emitStore(builder, loc, read(i, 1, false), values, at(number), elementType);
    Value index = keys.create<arith::IndexCastOp>(builder.getI64Type(), i);
    emitStore(builder, loc, index, indices, at(number), builder.getI64Type());
  }
  void exchange(Value a, Value b);

  Value operand, values, indices;
};
} // namespace

/// The results at `a` and `b` change places if the second comes earlier.
void TopKSelector::exchange(Value a, Value b) {
  ScalarBuilder numbers(builder, loc, builder.getI64Type());
  auto load = [&](Value memory, Value i, Type type) {
    return emitLoad(builder, loc, memory, at(i), type);
  };
  Value first = load(values, a, elementType),
        second = load(values, b, elementType),
        firstIndex = load(indices, a, numbers.getElementType()),
        secondIndex = load(indices, b, numbers.getElementType());
  Value firstKey = getKey(first), secondKey = getKey(second);
  Value isTie = keys.create<arith::AndIOp>(
      keys.equal(firstKey, secondKey), numbers.less(secondIndex, firstIndex));
  Value isLater =
      keys.create<arith::OrIOp>(keys.less(firstKey, secondKey), isTie);
  auto store = [&](Value memory, Value x, Value y, Type type) {
    emitStore(builder, loc, keys.select(isLater, y, x), memory, at(a), type);
    emitStore(builder, loc, keys.select(isLater, x, y), memory, at(b), type);
  };
  store(values, first, second, elementType);
  store(indices, firstIndex, secondIndex, numbers.getElementType());
}

/// Batcher's merging network for any number of elements: Knuth, "The Art of
/// Computer Programming", vol. 3, 5.2.2, algorithm M.
void TopKSelector::emitSort() {
  ScalarBuilder b(builder, loc, builder.getI64Type());
  int64_t levels = llvm::Log2_64_Ceil(k);
  Value one = b.index(1);
  loop(b.index(levels), {}, [&](Value level, ValueRange) -> SmallVector<Value> {
    Value last = b.create<arith::SubIOp>(b.index(levels - 1), level);
    Value p = b.create<arith::ShLIOp>(one, last);
    Value steps = b.addIndex(level, 1);
    loop(steps, {}, [&](Value step, ValueRange) -> SmallVector<Value> {
      // Neighbours of 2p first, then those 2^(levels - step) - p apart.
      Value isFirst =
          b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, step, b.index(0));
      Value power = b.create<arith::ShLIOp>(
          one, b.create<arith::SubIOp>(b.index(levels), step));
      Value distance = b.select(isFirst, p, b.create<arith::SubIOp>(power, p));
      Value wanted = b.select(isFirst, b.index(0), p);
      Value end = b.create<arith::SubIOp>(b.index(k), distance);
      loop(end, {}, [&](Value i, ValueRange) -> SmallVector<Value> {
        Value isOne = b.create<arith::CmpIOp>(
            arith::CmpIPredicate::eq, b.create<arith::AndIOp>(i, p), wanted);
        auto branch = scf::IfOp::create(builder, loc, isOne);
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(branch.thenBlock());
        exchange(i, b.create<arith::AddIOp>(i, distance));
        return {};
      });
      return {};
    });
    return {};
  });
}

LogicalResult TopKOp::emitLoops(OpBuilder &builder, Location loc,
                                ValueRange operands, ValueRange results,
                                Value begin, Value end) {
  auto type = getOperand().getType();
  TopKSelector selector(*this, builder, loc, operands, results);
  emitLoopNest(
      builder, loc, type.getShape().drop_back(), {},
      [&](OpBuilder &, Location, ValueRange outer,
          ValueRange) -> SmallVector<Value> {
        selector.emit(outer);
        if (getSorted() && getK() > 1)
          selector.emitSort();
        return {};
      },
      type.getRank() > 1 ? LoopRange{begin, end} : LoopRange());
  return success();
}
