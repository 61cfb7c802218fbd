//===- GraphArg.h - What arg_max and arg_min share -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to GraphReduce.cpp, where the ops' methods are generated.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHARG_H
#define DIALECTS_GRAPH_IR_GRAPHARG_H

#include "dialects/Graph/IR/GraphSupport.h"

namespace mlir::dist::graph {

inline LogicalResult inferArgType(StringRef name, std::optional<Location> loc,
                                  Value operand, uint64_t axis,
                                  SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(operand.getType());
  if (axis >= uint64_t(type.getRank()) || type.getDimSize(axis) == 0)
    return emitOptionalError(loc, "'", name,
                             "' op expected axis to name a dim of at least one "
                             "element of ",
                             type, ", but got ", int64_t(axis));
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + axis);
  types.push_back(
      RankedTensorType::get(shape, IntegerType::get(operand.getContext(), 64)));
  return success();
}

template <typename OpT> ShardingRule getArgRule(OpT op) {
  ShardingRuleBuilder rule(op);
  RankedTensorType type = op.getOperand().getType();
  unsigned kept = 0;
  for (unsigned d = 0; d < type.getRank(); ++d) {
    if (d == op.getAxis())
      rule.factor(type.getDimSize(d), ValueDim{0, d}, {},
                  FactorKind::NeedReplication);
    else
      rule.factor(type.getDimSize(d), ValueDim{0, d}, ValueDim{0, kept++});
  }
  return rule.build();
}

template <typename OpT>
LogicalResult evaluateArg(OpT op, bool largest, ArrayRef<HostTensor> operands,
                          SmallVectorImpl<HostTensor> &results) {
  HostTensor result(op.getType());
  const HostTensor &x = operands[0];
  auto beats = [&](int64_t a, int64_t b) {
    return isBeyond(x, a, b, /*above=*/largest);
  };
  int64_t i = 0;
  forEachIndex(op.getType().getShape(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> coordinates(index);
    coordinates.insert(coordinates.begin() + op.getAxis(), 0);
    int64_t best = 0, bestPosition = x.linearize(coordinates);
    for (int64_t k = 1; k < x.getShape()[op.getAxis()]; ++k) {
      coordinates[op.getAxis()] = k;
      int64_t position = x.linearize(coordinates);
      if (op.getSelectLast() ? !beats(bestPosition, position)
                             : beats(position, bestPosition))
        best = k, bestPosition = position;
    }
    result.setInt(i++, best);
  });
  results.push_back(std::move(result));
  return success();
}

template <typename OpT>
Value emitArg(OpT op, bool largest, OpBuilder &builder, Location loc,
              ValueRange indices, ElementLoader load) {
  RankedTensorType type = op.getOperand().getType();
  ScalarBuilder b(builder, loc, type), ints(builder, loc, builder.getI64Type());
  SmallVector<Value> coordinates(indices);
  coordinates.insert(coordinates.begin() + op.getAxis(), b.index(0));
  Value first = load(0, coordinates);
  return emitLoopNest(
      builder, loc, type.getDimSize(op.getAxis()) - 1, {first, ints.integer(0)},
      [&](OpBuilder &, Location, ValueRange loops,
          ValueRange state) -> SmallVector<Value> {
        Value k = b.addIndex(loops[0], 1);
        coordinates[op.getAxis()] = k;
        Value x = load(0, coordinates);
        Value isBetter;
        if (op.getSelectLast()) {
          Value isWorse = b.beyond(state[0], x, /*above=*/largest);
          isBetter = b.create<arith::XOrIOp>(
              isWorse, b.constant(builder.getBoolAttr(true)));
        } else {
          isBetter = b.beyond(x, state[0], /*above=*/largest);
        }
        Value number = b.create<arith::IndexCastOp>(builder.getI64Type(), k);
        return {b.select(isBetter, x, state[0]),
                b.select(isBetter, number, state[1])};
      })[1];
}

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IR_GRAPHARG_H
