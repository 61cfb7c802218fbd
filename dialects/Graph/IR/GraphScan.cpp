//===- GraphScan.cpp - cumsum -*- C++ -*-===//
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
    rule.factor(getType().getDimSize(d), ValueDim{0, d}, ValueDim{0, d},
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
      SmallVector<int64_t> coordinates(index);
      double sum = 0;
      uint64_t intSum = 0;
      for (int64_t k = 0; k < n; ++k) {
        coordinates[getAxis()] = getReverse() ? n - 1 - k : k;
        int64_t i = x.linearize(coordinates);
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

int64_t CumSumOp::getLoopRows() {
  return getAxis() > 0 ? getType().getDimSize(0) : 1;
}

LogicalResult CumSumOp::emitLoops(OpBuilder &builder, Location loc,
                                  ValueRange operands, ValueRange results,
                                  Value begin, Value end) {
  Type elementType = getType().getElementType();
  SmallVector<int64_t> outer(getType().getShape());
  int64_t n = outer[getAxis()];
  outer[getAxis()] = 1;
  emitLoopNest(
      builder, loc, outer, {},
      [&](OpBuilder &, Location, ValueRange index,
          ValueRange) -> SmallVector<Value> {
        SmallVector<Value> coordinates(index);
        ScalarBuilder b(builder, loc, elementType);
        emitLoopNest(builder, loc, n, b.constant(0),
                     [&](OpBuilder &, Location, ValueRange k,
                         ValueRange sum) -> SmallVector<Value> {
                       coordinates[getAxis()] =
                           getReverse()
                               ? b.create<arith::SubIOp>(b.index(n - 1), k[0])
                               : k[0];
                       Value x = emitLoad(builder, loc, operands[0],
                                          coordinates, elementType);
                       Value next = b.add(sum[0], x);
                       emitStore(builder, loc, getExclusive() ? sum[0] : next,
                                 results[0], coordinates, elementType);
                       return {next};
                     });
        return {};
      },
      getAxis() > 0 ? LoopRange{begin, end} : LoopRange());
  return success();
}
