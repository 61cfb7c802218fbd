//===- GraphReduce.cpp - The reduce op -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphArg.h"
#include "dialects/Graph/IR/GraphComposite.h"
#include "dialects/Graph/IR/GraphReduction.h"
#include "dialects/Interfaces/HostLoops.h"
#include <limits>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  int64_t last = -1;
  for (int64_t dim : adaptor.getDims()) {
    if (dim <= last || dim >= type.getRank())
      return emitOptionalError(loc,
                               "'graph.reduce' op expected dims to be "
                               "increasing and within the operand's ",
                               type.getRank(), " dims, but got ", dim);
    last = dim;
  }
  SmallVector<int64_t> shape;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (!llvm::is_contained(adaptor.getDims(), d))
      shape.push_back(type.getDimSize(d));
  types.push_back(type.clone(shape));
  return success();
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  if (getDims().empty())
    return getOperand();
  return {};
}

TypedAttr mlir::dist::graph::getIdentity(Reduction kind, Type elementType) {
  Builder builder(elementType.getContext());
  Type type = getComputeType(elementType);
  if (auto floatType = dyn_cast<FloatType>(type)) {
    double inf = std::numeric_limits<double>::infinity();
    switch (kind) {
    case Reduction::Sum:
      return builder.getFloatAttr(floatType, 0);
    case Reduction::Product:
      return builder.getFloatAttr(floatType, 1);
    case Reduction::Max:
      return builder.getFloatAttr(floatType, -inf);
    case Reduction::Min:
      return builder.getFloatAttr(floatType, inf);
    }
  }
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = elementType.isUnsignedInteger() || width == 1;
  APInt value(width, 0);
  if (kind == Reduction::Product)
    value = APInt(width, 1);
  else if (kind == Reduction::Max && !isUnsigned)
    value = APInt::getSignedMinValue(width);
  else if (kind == Reduction::Min)
    value = isUnsigned ? APInt::getMaxValue(width)
                       : APInt::getSignedMaxValue(width);
  return builder.getIntegerAttr(type, value);
}

LogicalResult ReduceOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  HostTensor result(getType());
  TypedAttr identity = getIdentity(getKind(), getType().getElementType());
  std::vector<double> floats;
  std::vector<int64_t> ints;
  // Accumulated wider than the result's type, and rounded once.
  if (auto start = dyn_cast<FloatAttr>(identity))
    floats.assign(result.getNumElements(), start.getValueAsDouble());
  else
    ints.assign(
        result.getNumElements(),
        wrapToType(cast<IntegerAttr>(identity).getValue().getSExtValue(),
                   cast<IntegerType>(getType().getElementType())));
  // Neighbours along a dim that is reduced belong to the same element.
  SmallVector<int64_t> strides(x.getShape().size(), 0);
  SmallVector<int64_t> kept = getRowMajorStrides(getType().getShape());
  for (unsigned d = 0, next = 0; d < strides.size(); ++d)
    if (!llvm::is_contained(getDims(), int64_t(d)))
      strides[d] = kept[next++];
  auto reduceRows = [&](auto from, auto &to, auto combineTwo) {
    int64_t size = strides.empty() ? 1 : x.getShape().back();
    int64_t step = strides.empty() ? 0 : strides.back();
    forEachRow(x.getShape(), strides, [&](int64_t offset, int64_t position) {
      for (int64_t i = 0; i < size; ++i) {
        auto &element = to[offset + i * step];
        element = combineTwo(element, from[position + i]);
      }
    });
  };
  bool isUnsigned = x.isUnsigned();
  if (x.isFloat() && getKind() == Reduction::Sum)
    reduceRows(x.getFloats(), floats, [](double a, double b) { return a + b; });
  else if (x.isFloat())
    reduceRows(x.getFloats(), floats,
               [&](double a, double b) { return combine(getKind(), a, b); });
  else
    reduceRows(x.getInts(), ints, [&](int64_t a, int64_t b) {
      return combine(getKind(), a, b, isUnsigned);
    });
  for (int64_t i = 0, e = result.getNumElements(); i < e; ++i) {
    if (x.isFloat())
      result.setDouble(i, floats[i]);
    else
      result.setInt(i, ints[i]);
  }
  results.push_back(std::move(result));
  return success();
}

Value ReduceOp::emitElement(OpBuilder &builder, Location loc, unsigned,
                            ValueRange indices, ElementLoader load) {
  auto type = cast<RankedTensorType>(getOperand().getType());
  SmallVector<int64_t> sizes;
  for (int64_t dim : getDims())
    sizes.push_back(type.getDimSize(dim));
  Value start = ScalarBuilder(builder, loc, type)
                    .constant(getIdentity(getKind(), type.getElementType()));
  return emitLoopNest(builder, loc, sizes, start,
                      [&](OpBuilder &, Location, ValueRange loops,
                          ValueRange state) -> SmallVector<Value> {
                        SmallVector<Value> coordinates(type.getRank());
                        unsigned kept = 0, reduced = 0;
                        for (int64_t d = 0; d < type.getRank(); ++d)
                          coordinates[d] = llvm::is_contained(getDims(), d)
                                               ? loops[reduced++]
                                               : indices[kept++];
                        Value x = load(0, coordinates);
                        // `load` builds where `builder` stands, which is inside
                        // the nest.
                        ScalarBuilder b(builder, loc, type);
                        switch (getKind()) {
                        case Reduction::Sum:
                          return {b.add(state[0], x)};
                        case Reduction::Product:
                          return {b.mul(state[0], x)};
                        case Reduction::Max:
                          return {b.max(state[0], x)};
                        case Reduction::Min:
                          return {b.min(state[0], x)};
                        }
                        llvm_unreachable("all kinds are listed");
                      })[0];
}

ShardingRule ReduceOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  auto type = cast<RankedTensorType>(getOperand().getType());
  unsigned kept = 0;
  for (unsigned d = 0; d < type.getRank(); ++d) {
    if (llvm::is_contained(getDims(), int64_t(d)))
      rule.reduction(type.getDimSize(d), ValueDim{0, d}, getKind());
    else
      rule.factor(type.getDimSize(d), ValueDim{0, d}, ValueDim{0, kept++});
  }
  if (getKind() == Reduction::Sum)
    rule.linear({0});
  return rule.build();
}

OpCost ReduceOp::getCost() {
  OpCost cost = getElementwiseCost(*this);
  cost.flops = getOperand().getType().getNumElements();
  return cost;
}

LogicalResult ReduceOp::differentiate(OpBuilder &builder,
                                      ValueRange resultCotangents,
                                      ArrayRef<bool> wanted,
                                      SmallVectorImpl<Value> &cotangents) {
  Value x = getOperand(), dy = resultCotangents[0];
  auto type = getOperand().getType();
  if (!dy || !wanted[0] || !isa<FloatType>(type.getElementType())) {
    cotangents.push_back({});
    return success();
  }
  GraphBuilder g(builder, getLoc());
  auto spread = [&](Value v) {
    return g.broadcastOver(v, type.getShape(), getDims());
  };
  switch (getKind()) {
  case Reduction::Sum:
    cotangents.push_back(spread(dy));
    break;
  case Reduction::Max:
  case Reduction::Min: {
    // Equal elements share, as in TensorFlow (math_grad.py, _MinOrMaxGrad). How
    // many they are may be more than 16 bits hold.
    Type element = type.getElementType(), wide = getStatisticsType(element);
    Value isChosen = g.compare(ComparePredicate::EQ, x, spread(getResult()));
    Value chosen = g.convert(isChosen, wide);
    Value share = g.div(g.convert(dy, wide), g.sum(chosen, getDims()));
    cotangents.push_back(
        g.mul(g.convert(chosen, element), spread(g.convert(share, element))));
    break;
  }
  case Reduction::Product: {
    // The product of the others. Dividing by x is wrong where x is 0: leave
    // zeros out of the product; an element sees a zero among the others when
    // there are two, or one that is not itself.
    Value zero = g.like(x, 0);
    Value isZero = g.compare(ComparePredicate::EQ, x, zero);
    Value safe = g.select(isZero, g.like(x, 1), x);
    Value product = g.reduce(Reduction::Product, safe, getDims());
    Value ones = g.convert(isZero, type.getElementType());
    Value others = g.sub(spread(g.sum(ones, getDims())), ones);
    Value slope = g.select(g.compare(ComparePredicate::EQ, others, zero),
                           g.div(spread(product), safe), zero);
    cotangents.push_back(g.mul(spread(dy), slope));
    break;
  }
  }
  return success();
}

void GraphDialect::registerReduceOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Graph/IR/GraphReduceOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphReduceOps.cpp.inc"
