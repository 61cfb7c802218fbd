//===- GraphScan.cpp - cumsum, top_k -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphSupport.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

//===----------------------------------------------------------------------===//
// cumsum
//===----------------------------------------------------------------------===//

LogicalResult CumSumOp::verify() {
  if (getAxis() >= uint64_t(getType().getRank()))
    return emitOpError("expected axis to be within the operand's ")
           << getType().getRank() << " dims, but got " << int64_t(getAxis());
  return success();
}

LogicalResult CumSumOp::differentiate(OpBuilder &builder,
                                      ValueRange resultCotangents,
                                      ArrayRef<bool> wanted,
                                      SmallVectorImpl<Value> &cotangents) {
  Value dy = resultCotangents[0];
  if (!dy || !wanted[0] || !isa<FloatType>(getType().getElementType())) {
    cotangents.push_back({});
    return success();
  }
  // Each element reaches the sums after it: a running sum from the other end.
  cotangents.push_back(create(
      builder, getLoc(), dy.getType(), dy, builder.getI64IntegerAttr(getAxis()),
      builder.getBoolAttr(getExclusive()), builder.getBoolAttr(!getReverse())));
  return success();
}

ShardingRule CumSumOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  for (unsigned d = 0; d < getType().getRank(); ++d)
    rule.factor(getType().getDimSize(d), Place{0, d}, Place{0, d},
                d == getAxis() ? FactorKind::NeedReplication
                               : FactorKind::PassThrough);
  rule.linear({0});
  return rule.build();
}

LogicalResult CumSumOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  HostTensor result(getType());
  int64_t n = getType().getDimSize(getAxis());
  SmallVector<int64_t> outer(getType().getShape());
  outer[getAxis()] = 1;
  if (n != 0)
    forEachIndex(outer, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> place(index);
      double sum = 0;
      uint64_t intSum = 0;
      for (int64_t k = 0; k < n; ++k) {
        place[getAxis()] = getReverse() ? n - 1 - k : k;
        int64_t i = x.linearize(place);
        double before = sum;
        uint64_t intBefore = intSum;
        if (x.isFloat())
          result.setDouble(i,
                           getExclusive() ? before : (before + x.getDouble(i)));
        else
          result.setInt(i,
                        getExclusive() ? intBefore : intBefore + x.getInt(i));
        sum += x.isFloat() ? x.getDouble(i) : 0;
        intSum += x.isFloat() ? 0 : x.getInt(i);
      }
    });
  results.push_back(std::move(result));
  return success();
}

bool CumSumOp::isElemental() { return false; }

Value CumSumOp::emitElement(OpBuilder &, Location, unsigned, ValueRange,
                            ElementLoader) {
  return {};
}

LogicalResult CumSumOp::emitLoops(OpBuilder &builder, Location loc,
                                  ValueRange operands, ValueRange results) {
  Type elementType = getType().getElementType();
  SmallVector<int64_t> outer(getType().getShape());
  int64_t n = outer[getAxis()];
  outer[getAxis()] = 1;
  emitLoopNest(
      builder, loc, outer, {},
      [&](OpBuilder &, Location, ValueRange index,
          ValueRange) -> SmallVector<Value> {
        SmallVector<Value> place(index);
        ScalarBuilder b(builder, loc, elementType);
        emitLoopNest(
            builder, loc, n, b.constant(0),
            [&](OpBuilder &, Location, ValueRange k,
                ValueRange sum) -> SmallVector<Value> {
              place[getAxis()] =
                  getReverse() ? b.create<arith::SubIOp>(b.index(n - 1), k[0])
                               : k[0];
              Value x = emitLoad(builder, loc, operands[0], place, elementType);
              Value next = b.add(sum[0], x);
              emitStore(builder, loc, getExclusive() ? sum[0] : next,
                        results[0], place, elementType);
              return {next};
            });
        return {};
      });
  return success();
}

//===----------------------------------------------------------------------===//
// top_k
//===----------------------------------------------------------------------===//

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location> loc,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  uint64_t k = adaptor.getK();
  if (type.getRank() == 0 || k < 1 || k > uint64_t(type.getShape().back()))
    return emitOptionalError(
        loc,
        "'graph.top_k' op expected k to be from 1 to the size "
        "of the last dim of ",
        type, ", but got ", int64_t(k));
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = k;
  types.push_back(type.clone(shape));
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 64)));
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
    rule.factor(type.getDimSize(d), Place{0, d}, {Place{0, d}, Place{1, d}});
  rule.factor(type.getDimSize(last), Place{0, last}, {},
              FactorKind::NeedReplication);
  rule.factor(getK(), {}, {Place{0, last}, Place{1, last}},
              FactorKind::NeedReplication);
  return rule.build();
}

OpCost TopKOp::getCost() {
  OpCost cost = getElementwiseCost(*this);
  cost.flops = double(getK()) * getOperand().getType().getNumElements();
  return cost;
}

LogicalResult TopKOp::evaluate(ArrayRef<HostTensor> operands,
                               SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  HostTensor values(getValues().getType()), indices(getIndices().getType());
  int64_t n = x.getShape().back(), k = getK();
  // NaN is above every number: the smallest are numbers first.
  auto beats = [&](int64_t a, int64_t b) {
    return getLargest() ? isBeyond(x, a, b, /*above=*/true)
                        : isBeyond(x, b, a, /*above=*/true);
  };
  for (int64_t row = 0, rows = x.getNumElements() / std::max<int64_t>(n, 1);
       row < rows; ++row) {
    std::vector<bool> taken(n, false);
    for (int64_t j = 0; j < k; ++j) {
      int64_t best = -1;
      for (int64_t i = 0; i < n; ++i)
        if (!taken[i] && (best < 0 || beats(row * n + i, row * n + best)))
          best = i;
      taken[best] = true;
      copyElement(values, row * k + j, x, row * n + best);
      indices.setInt(row * k + j, best);
    }
  }
  results.push_back(std::move(values));
  results.push_back(std::move(indices));
  return success();
}

bool TopKOp::isElemental() { return false; }

Value TopKOp::emitElement(OpBuilder &, Location, unsigned, ValueRange,
                          ElementLoader) {
  return {};
}

LogicalResult TopKOp::emitLoops(OpBuilder &builder, Location loc,
                                ValueRange operands, ValueRange results) {
  auto type = getOperand().getType();
  Type elementType = type.getElementType();
  int64_t n = type.getShape().back();
  ScalarBuilder b(builder, loc, elementType),
      ints(builder, loc, builder.getI64Type());
  auto beats = [&](Value x, Value y) {
    return getLargest() ? b.beyond(x, y, /*above=*/true)
                        : b.beyond(y, x, /*above=*/true);
  };
  auto no = [&](Value x) {
    return b.create<arith::XOrIOp>(x, b.constant(builder.getBoolAttr(true)));
  };
  auto both = [&](Value x, Value y) { return b.create<arith::AndIOp>(x, y); };
  auto either = [&](Value x, Value y) { return b.create<arith::OrIOp>(x, y); };
  emitLoopNest(
      builder, loc, type.getShape().drop_back(), {},
      [&](OpBuilder &, Location, ValueRange outer,
          ValueRange) -> SmallVector<Value> {
        SmallVector<Value> place(outer);
        place.push_back(b.index(0));
        Value first = emitLoad(builder, loc, operands[0], place, elementType);
        // Each round finds the best element behind the previous round's in the
        // order (value, index); round 0 has no previous one: index -1.
        emitLoopNest(
            builder, loc, getK(), {first, ints.integer(-1)},
            [&](OpBuilder &, Location, ValueRange round,
                ValueRange previous) -> SmallVector<Value> {
              Value isFirstRound = ints.less(previous[1], ints.integer(0));
              SmallVector<Value> best = emitLoopNest(
                  builder, loc, n,
                  {first, ints.integer(0),
                   b.constant(builder.getBoolAttr(false))},
                  [&](OpBuilder &, Location, ValueRange i,
                      ValueRange state) -> SmallVector<Value> {
                    place.back() = i[0];
                    Value x =
                        emitLoad(builder, loc, operands[0], place, elementType);
                    Value number = b.create<arith::IndexCastOp>(
                        builder.getI64Type(), i[0]);
                    // Of equals, those with higher indices.
                    Value tie = both(no(beats(x, previous[0])),
                                     ints.less(previous[1], number));
                    Value isLeft = either(isFirstRound,
                                          either(beats(previous[0], x), tie));
                    Value take =
                        both(isLeft, either(no(state[2]), beats(x, state[0])));
                    return {b.select(take, x, state[0]),
                            b.select(take, number, state[1]),
                            either(state[2], take)};
                  });
              SmallVector<Value> to(outer);
              to.push_back(round[0]);
              emitStore(builder, loc, best[0], results[0], to, elementType);
              emitStore(builder, loc, best[1], results[1], to,
                        builder.getI64Type());
              return {best[0], best[1]};
            });
        return {};
      });
  return success();
}
