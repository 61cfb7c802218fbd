//===- GraphScatter.cpp - scatter_add, scatter_elements, scatter_nd -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All three go over the updates, in row-major order, and combine each with an
// element of the result. They differ in how they compute its coordinates.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphComposite.h"
#include "dialects/Graph/IR/GraphIndexSupport.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// What an update does with the element that is there; none: it replaces it.
static std::optional<Reduction> findReduction(ScatterKind kind) {
  switch (kind) {
  case ScatterKind::Set:
    return std::nullopt;
  case ScatterKind::Add:
    return Reduction::Sum;
  case ScatterKind::Mul:
    return Reduction::Product;
  case ScatterKind::Max:
    return Reduction::Max;
  case ScatterKind::Min:
    return Reduction::Min;
  }
  llvm_unreachable("all kinds are listed");
}

static Value emitCombine(ScatterKind kind, ScalarBuilder &b, Value x, Value y) {
  switch (kind) {
  case ScatterKind::Set:
    return y;
  case ScatterKind::Add:
    return b.add(x, y);
  case ScatterKind::Mul:
    return b.mul(x, y);
  case ScatterKind::Max:
    return b.max(x, y);
  case ScatterKind::Min:
    return b.min(x, y);
  }
  llvm_unreachable("all kinds are listed");
}

/// `locate` gives the result's coordinates for an update's; empty on a bad
/// index.
static LogicalResult evaluateScatter(
    ScatterKind kind, ArrayRef<HostTensor> operands,
    SmallVectorImpl<HostTensor> &results,
    llvm::function_ref<std::optional<SmallVector<int64_t>>(ArrayRef<int64_t>)>
        locate) {
  HostTensor result = operands[0];
  const HostTensor &updates = operands[2];
  std::optional<Reduction> reduction = findReduction(kind);
  bool isGood = true;
  int64_t i = 0;
  forEachIndex(updates.getShape(), [&](ArrayRef<int64_t> index) {
    int64_t from = i++;
    std::optional<SmallVector<int64_t>> to;
    if (isGood)
      to = locate(index);
    if (!(isGood &= to.has_value()))
      return;
    int64_t at = result.linearize(*to);
    if (result.isFloat()) {
      double x = result.getDouble(at), y = updates.getDouble(from);
      result.setDouble(at, reduction ? combine(*reduction, x, y) : y);
    } else {
      int64_t x = result.getInt(at), y = updates.getInt(from);
      bool isUnsigned = result.isUnsigned();
      result.setInt(at, reduction ? combine(*reduction, x, y, isUnsigned) : y);
    }
  });
  results.push_back(std::move(result));
  return success(isGood);
}

static LogicalResult
emitScatter(ScatterKind kind, OpBuilder &builder, Location loc,
            RankedTensorType type, RankedTensorType updatesType,
            ValueRange operands, Value result, LoopRange rows,
            llvm::function_ref<SmallVector<Value>(ValueRange)> locate) {
  Type elementType = type.getElementType();
  emitLoopNest(
      builder, loc, type.getShape(), {},
      [&](OpBuilder &, Location, ValueRange index,
          ValueRange) -> SmallVector<Value> {
        Value x = emitLoad(builder, loc, operands[0], index, elementType);
        emitStore(builder, loc, x, result, index, elementType);
        return {};
      },
      rows);
  emitLoopNest(
      builder, loc, updatesType.getShape(), {},
      [&](OpBuilder &, Location, ValueRange index,
          ValueRange) -> SmallVector<Value> {
        SmallVector<Value> to = locate(index);
        Value update = emitLoad(builder, loc, operands[2], index, elementType);
        ScalarBuilder b(builder, loc, elementType);
        Value old = kind == ScatterKind::Set
                        ? update
                        : emitLoad(builder, loc, result, to, elementType);
        emitStore(builder, loc, emitCombine(kind, b, old, update), result, to,
                  elementType);
        return {};
      },
      rows);
  return success();
}

/// Cotangents of operand and updates; `gather` reads at the updates'
/// coordinates, `scatter` is the op itself with another kind, operand and
/// updates. Several updates may meet at an element, but for those of set, which
/// are not defined there.
static LogicalResult differentiateScatter(
    Operation *op, ScatterKind kind, OpBuilder &builder, Value dy,
    ArrayRef<bool> wanted, SmallVectorImpl<Value> &cotangents,
    llvm::function_ref<Value(Value)> gather,
    llvm::function_ref<Value(ScatterKind, Value, Value)> scatter) {
  cotangents.append(3, Value());
  Value operand = op->getOperand(0), updates = op->getOperand(2);
  if (!dy || !isa<FloatType>(getElementTypeOrSelf(operand)))
    return success();
  GraphBuilder g(builder, op->getLoc());
  auto equal = [&](Value x, Value y) {
    return g.compare(ComparePredicate::EQ, x, y);
  };
  switch (kind) {
  case ScatterKind::Add:
    if (wanted[0])
      cotangents[0] = dy;
    if (wanted[2])
      cotangents[2] = gather(dy);
    break;
  case ScatterKind::Set:
    if (wanted[0])
      cotangents[0] = scatter(ScatterKind::Set, dy, g.like(updates, 0));
    if (wanted[2])
      cotangents[2] = gather(dy);
    break;
  case ScatterKind::Mul:
    if (wanted[0])
      cotangents[0] = scatter(ScatterKind::Mul, dy, updates);
    if (wanted[2]) {
      // The product of the element and the other updates that it meets, as of a
      // reduction: zeros are left out of it, and counted.
      Value zero = g.like(updates, 0), isZero = equal(updates, zero);
      Value safe = g.select(isZero, g.like(updates, 1), updates);
      Value ones = g.convert(isZero, getElementTypeOrSelf(updates));
      Value zeros = scatter(ScatterKind::Add, g.like(operand, 0), ones);
      Value others = g.sub(gather(zeros), ones);
      Value product = gather(scatter(ScatterKind::Mul, operand, safe));
      Value slope = g.select(equal(others, zero), g.div(product, safe), zero);
      cotangents[2] = g.mul(gather(dy), slope);
    }
    break;
  case ScatterKind::Max:
  case ScatterKind::Min: {
    // Equal ones share, as in a reduction; their count may be more than 16 bits
    // hold.
    Type element = getElementTypeOrSelf(operand),
         wide = getStatisticsType(element);
    Value result = op->getResult(0);
    Value isOld = equal(result, operand),
          isNew = equal(gather(result), updates);
    Value count = scatter(ScatterKind::Add, g.convert(isOld, wide),
                          g.convert(isNew, wide));
    Value share = g.convert(g.div(g.convert(dy, wide), count), element);
    if (wanted[0])
      cotangents[0] = g.select(isOld, share, g.like(dy, 0));
    if (wanted[2])
      cotangents[2] = g.select(isNew, gather(share), g.like(updates, 0));
    break;
  }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// scatter_add
//===----------------------------------------------------------------------===//

LogicalResult ScatterAddOp::inferReturnTypes(MLIRContext *,
                                             std::optional<Location> loc,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  auto indices = cast<RankedTensorType>(adaptor.getIndices().getType());
  if (failed(verifyAxis(getOperationName(), loc, operand, adaptor.getAxis())))
    return failure();
  Type expected =
      operand.clone(getSlicesShape(operand, indices, adaptor.getAxis()));
  if (adaptor.getUpdates().getType() != expected)
    return emitOptionalError(
        loc, "'graph.scatter_add' op expected updates of type ", expected,
        ", but got ", adaptor.getUpdates().getType());
  types.push_back(operand);
  return success();
}

LogicalResult ScatterAddOp::differentiate(OpBuilder &builder,
                                          ValueRange resultCotangents,
                                          ArrayRef<bool> wanted,
                                          SmallVectorImpl<Value> &cotangents) {
  return differentiateScatter(
      *this, ScatterKind::Add, builder, resultCotangents[0], wanted, cotangents,
      [&](Value from) -> Value {
        return GatherOp::create(builder, getLoc(), from, getIndices(),
                                getAxis());
      },
      nullptr);
}

ShardingRule ScatterAddOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  auto operand = getOperand().getType(), indices = getIndices().getType();
  unsigned axis = getAxis(), count = indices.getRank();
  for (unsigned d = 0; d < operand.getRank(); ++d) {
    if (d == axis)
      rule.factor(operand.getDimSize(d), ValueDim{0, d}, ValueDim{0, d},
                  FactorKind::NeedReplication);
    else
      rule.factor(operand.getDimSize(d),
                  {ValueDim{0, d}, ValueDim{2, d < axis ? d : d - 1 + count}},
                  ValueDim{0, d});
  }
  for (unsigned d = 0; d < count; ++d)
    addUpdatesFactor(rule, *this, ScatterKind::Add, indices.getDimSize(d),
                     {ValueDim{1, d}, ValueDim{2, axis + d}});
  addLinearSets(rule, *this, ScatterKind::Add);
  return rule.build();
}

LogicalResult ScatterAddOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  const HostTensor &indices = operands[1];
  unsigned axis = getAxis(), count = indices.getShape().size();
  return evaluateScatter(
      ScatterKind::Add, operands, results,
      [&](ArrayRef<int64_t> index) -> std::optional<SmallVector<int64_t>> {
        int64_t chosen = readIndex(*this, indices,
                                   indices.linearize(index.slice(axis, count)),
                                   getType().getDimSize(axis));
        if (chosen < 0)
          return std::nullopt;
        SmallVector<int64_t> coordinates(index.take_front(axis));
        coordinates.push_back(chosen);
        llvm::append_range(coordinates, index.drop_front(axis + count));
        return coordinates;
      });
}

int64_t ScatterAddOp::getLoopRows() {
  return getAxis() > 0 ? getType().getDimSize(0) : 1;
}

LogicalResult ScatterAddOp::emitLoops(OpBuilder &builder, Location loc,
                                      ValueRange operands, ValueRange results,
                                      Value begin, Value end) {
  LoopRange rows;
  if (getAxis() > 0)
    rows = {begin, end};
  auto type = getIndices().getType();
  unsigned axis = getAxis(), count = type.getRank();
  return emitScatter(
      ScatterKind::Add, builder, loc, getType(), getUpdates().getType(),
      operands, results[0], rows, [&](ValueRange index) {
        Value given = emitLoad(builder, loc, operands[1],
                               index.slice(axis, count), type.getElementType());
        SmallVector<Value> coordinates(index.take_front(axis));
        coordinates.push_back(
            emitIndex(builder, loc, given, type, getType().getDimSize(axis)));
        llvm::append_range(coordinates, index.drop_front(axis + count));
        return coordinates;
      });
}

//===----------------------------------------------------------------------===//
// scatter_elements
//===----------------------------------------------------------------------===//

LogicalResult
ScatterElementsOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                    Adaptor adaptor,
                                    SmallVectorImpl<Type> &types) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  auto indices = cast<RankedTensorType>(adaptor.getIndices().getType());
  uint64_t axis = adaptor.getAxis();
  if (failed(verifyAxis(getOperationName(), loc, operand, axis)))
    return failure();
  bool fits =
      indices.getRank() == operand.getRank() &&
      adaptor.getUpdates().getType() == operand.clone(indices.getShape());
  for (uint64_t d = 0; fits && d < uint64_t(operand.getRank()); ++d)
    fits &= d == axis || indices.getDimSize(d) <= operand.getDimSize(d);
  if (!fits)
    return emitOptionalError(
        loc,
        "'graph.scatter_elements' op expected indices and "
        "updates of one shape, no larger than the operand's in "
        "any but axis ",
        int64_t(axis), ", but got ", indices, " and ",
        adaptor.getUpdates().getType(), " for ", operand);
  types.push_back(operand);
  return success();
}

LogicalResult ScatterElementsOp::differentiate(
    OpBuilder &builder, ValueRange resultCotangents, ArrayRef<bool> wanted,
    SmallVectorImpl<Value> &cotangents) {
  return differentiateScatter(
      *this, getKind(), builder, resultCotangents[0], wanted, cotangents,
      [&](Value from) -> Value {
        return GatherElementsOp::create(builder, getLoc(), from, getIndices(),
                                        getAxis());
      },
      [&](ScatterKind kind, Value operand, Value updates) -> Value {
        return create(builder, getLoc(), kind, operand, getIndices(), updates,
                      getAxis());
      });
}

ShardingRule ScatterElementsOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  auto operand = getOperand().getType(), indices = getIndices().getType();
  for (unsigned d = 0; d < operand.getRank(); ++d) {
    if (d != getAxis() && operand.getDimSize(d) == indices.getDimSize(d)) {
      rule.factor(operand.getDimSize(d),
                  {ValueDim{0, d}, ValueDim{1, d}, ValueDim{2, d}},
                  ValueDim{0, d});
      continue;
    }
    rule.factor(operand.getDimSize(d), ValueDim{0, d}, ValueDim{0, d},
                FactorKind::NeedReplication);
    // Off the axis the update's own index is its coordinate: a part's would
    // shift.
    if (d == getAxis())
      addUpdatesFactor(rule, *this, getKind(), indices.getDimSize(d),
                       {ValueDim{1, d}, ValueDim{2, d}});
    else
      rule.factor(indices.getDimSize(d), {ValueDim{1, d}, ValueDim{2, d}}, {},
                  FactorKind::NeedReplication);
  }
  addLinearSets(rule, *this, getKind());
  return rule.build();
}

LogicalResult
ScatterElementsOp::evaluate(ArrayRef<HostTensor> operands,
                            SmallVectorImpl<HostTensor> &results) {
  const HostTensor &indices = operands[1];
  return evaluateScatter(
      getKind(), operands, results,
      [&](ArrayRef<int64_t> index) -> std::optional<SmallVector<int64_t>> {
        SmallVector<int64_t> coordinates(index);
        coordinates[getAxis()] =
            readIndex(*this, indices, indices.linearize(index),
                      getType().getDimSize(getAxis()));
        if (coordinates[getAxis()] < 0)
          return std::nullopt;
        return coordinates;
      });
}

int64_t ScatterElementsOp::getLoopRows() {
  return getAxis() > 0 ? getType().getDimSize(0) : 1;
}

LogicalResult ScatterElementsOp::emitLoops(OpBuilder &builder, Location loc,
                                           ValueRange operands,
                                           ValueRange results, Value begin,
                                           Value end) {
  LoopRange rows;
  if (getAxis() > 0)
    rows = {begin, end};
  auto type = getIndices().getType();
  return emitScatter(getKind(), builder, loc, getType(), getUpdates().getType(),
                     operands, results[0], rows, [&](ValueRange index) {
                       Value given = emitLoad(builder, loc, operands[1], index,
                                              type.getElementType());
                       SmallVector<Value> coordinates(index);
                       coordinates[getAxis()] =
                           emitIndex(builder, loc, given, type,
                                     getType().getDimSize(getAxis()));
                       return coordinates;
                     });
}

//===----------------------------------------------------------------------===//
// scatter_nd
//===----------------------------------------------------------------------===//

LogicalResult ScatterNDOp::inferReturnTypes(MLIRContext *,
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
  if (adaptor.getUpdates().getType() != operand.clone(*shape))
    return emitOptionalError(
        loc, "'graph.scatter_nd' op expected updates of type ",
        operand.clone(*shape), ", but got ", adaptor.getUpdates().getType());
  types.push_back(operand);
  return success();
}

LogicalResult ScatterNDOp::differentiate(OpBuilder &builder,
                                         ValueRange resultCotangents,
                                         ArrayRef<bool> wanted,
                                         SmallVectorImpl<Value> &cotangents) {
  return differentiateScatter(
      *this, getKind(), builder, resultCotangents[0], wanted, cotangents,
      [&](Value from) -> Value {
        return GatherNDOp::create(builder, getLoc(), from, getIndices(),
                                  getBatchDims());
      },
      [&](ScatterKind kind, Value operand, Value updates) -> Value {
        return create(builder, getLoc(), kind, operand, getIndices(), updates,
                      getBatchDims());
      });
}

ShardingRule ScatterNDOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  auto operand = getOperand().getType(), indices = getIndices().getType();
  unsigned batch = getBatchDims(), last = indices.getRank() - 1;
  unsigned count = indices.getShape().back();
  for (unsigned d = 0; d < last; ++d) {
    if (d < batch)
      rule.factor(indices.getDimSize(d),
                  {ValueDim{0, d}, ValueDim{1, d}, ValueDim{2, d}},
                  ValueDim{0, d});
    else
      addUpdatesFactor(rule, *this, getKind(), indices.getDimSize(d),
                       {ValueDim{1, d}, ValueDim{2, d}});
  }
  rule.factor(count, ValueDim{1, last}, {}, FactorKind::NeedReplication);
  for (unsigned d = batch; d < operand.getRank(); ++d) {
    if (d < batch + count)
      rule.factor(operand.getDimSize(d), ValueDim{0, d}, ValueDim{0, d},
                  FactorKind::NeedReplication);
    else
      rule.factor(operand.getDimSize(d),
                  {ValueDim{0, d}, ValueDim{2, last + d - batch - count}},
                  ValueDim{0, d});
  }
  addLinearSets(rule, *this, getKind());
  return rule.build();
}

LogicalResult ScatterNDOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  const HostTensor &indices = operands[1];
  unsigned batch = getBatchDims(), last = indices.getShape().size() - 1;
  return evaluateScatter(
      getKind(), operands, results,
      [&](ArrayRef<int64_t> index) -> std::optional<SmallVector<int64_t>> {
        SmallVector<int64_t> coordinates(index.take_front(batch));
        SmallVector<int64_t> at(index.take_front(last));
        at.push_back(0);
        int64_t first = indices.linearize(at);
        for (int64_t c = 0; c < indices.getShape().back(); ++c) {
          coordinates.push_back(readIndex(*this, indices, first + c,
                                          getType().getDimSize(batch + c)));
          if (coordinates.back() < 0)
            return std::nullopt;
        }
        llvm::append_range(coordinates, index.drop_front(last));
        return coordinates;
      });
}

int64_t ScatterNDOp::getLoopRows() {
  return getBatchDims() > 0 ? getType().getDimSize(0) : 1;
}

LogicalResult ScatterNDOp::emitLoops(OpBuilder &builder, Location loc,
                                     ValueRange operands, ValueRange results,
                                     Value begin, Value end) {
  LoopRange rows;
  if (getBatchDims() > 0)
    rows = {begin, end};
  auto type = getIndices().getType();
  unsigned batch = getBatchDims(), last = type.getRank() - 1;
  return emitScatter(
      getKind(), builder, loc, getType(), getUpdates().getType(), operands,
      results[0], rows, [&](ValueRange index) {
        SmallVector<Value> coordinates(index.take_front(batch));
        SmallVector<Value> at(index.take_front(last));
        at.push_back({});
        for (int64_t c = 0; c < type.getShape().back(); ++c) {
          at.back() = ScalarBuilder(builder, loc, type).index(c);
          Value given =
              emitLoad(builder, loc, operands[1], at, type.getElementType());
          coordinates.push_back(emitIndex(builder, loc, given, type,
                                          getType().getDimSize(batch + c)));
        }
        llvm::append_range(coordinates, index.drop_front(last));
        return coordinates;
      });
}
