//===- GraphRows.cpp - gather_rows, scatter_add_rows -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphRows.h"
#include "dialects/Graph/IR/GraphIndexSupport.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphRowOps.cpp.inc"

/// Checks that the operand has rows, and each of them a number.
static LogicalResult verifyRows(StringRef name, std::optional<Location> loc,
                                RankedTensorType operand,
                                RankedTensorType numbers) {
  if (failed(verifyAxis(name, loc, operand, 0)))
    return failure();
  if (numbers.getShape() == operand.getShape().take_front(1))
    return success();
  return emitOptionalError(loc, "'", name,
                           "' op expected a number for each row of ", operand,
                           ", but got ", numbers);
}

/// The operand's row that the index at `position` stands for; none where it
/// has no such row. Fails with an error if the whole table has none.
static FailureOr<std::optional<int64_t>>
findRow(Operation *op, const HostTensor &indices, int64_t position,
        const HostTensor &numbers, int64_t numRows) {
  int64_t index = readIndex(op, indices, position, numRows);
  if (index < 0)
    return failure();
  int64_t row = index - numbers.getInt(0);
  if (row < 0 || row >= numbers.getNumElements())
    return std::optional<int64_t>();
  return std::optional(row);
}

/// The same as code: the row, clamped into [0, size), and whether it is there.
static std::pair<Value, Value> emitRow(OpBuilder &builder, Location loc,
                                       Value given, Type type, Value first,
                                       Type firstType, int64_t size,
                                       int64_t numRows) {
  ScalarBuilder b(builder, loc, firstType);
  Type indexType = builder.getIndexType();
  Value start = b.isUnsigned()
                    ? b.create<arith::IndexCastUIOp>(indexType, first)
                    : b.create<arith::IndexCastOp>(indexType, first);
  Value row = b.create<arith::SubIOp>(
      emitIndex(builder, loc, given, type, numRows), start);
  Value clamped = b.clampIndex(row, size);
  return {clamped,
          b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, row, clamped)};
}

//===----------------------------------------------------------------------===//
// gather_rows
//===----------------------------------------------------------------------===//

LogicalResult GatherRowsOp::inferReturnTypes(MLIRContext *,
                                             std::optional<Location> loc,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  auto indices = cast<RankedTensorType>(adaptor.getIndices().getType());
  if (failed(
          verifyRows(getOperationName(), loc, operand,
                     cast<RankedTensorType>(adaptor.getNumbers().getType()))))
    return failure();
  types.push_back(operand.clone(getSlicesShape(operand, indices, 0)));
  return success();
}

LogicalResult GatherRowsOp::differentiate(OpBuilder &builder,
                                          ValueRange resultCotangents,
                                          ArrayRef<bool> wanted,
                                          SmallVectorImpl<Value> &cotangents) {
  cotangents.append(3, Value());
  auto type = getOperand().getType();
  if (!resultCotangents[0] || !wanted[0] ||
      !isa<FloatType>(type.getElementType()))
    return success();
  GraphBuilder g(builder, getLoc());
  cotangents[0] =
      g.make<ScatterAddRowsOp>(g.zeros(type), getIndices(), resultCotangents[0],
                               getNumbers(), getNumRows());
  return success();
}

ShardingRule GatherRowsOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  auto operand = getOperand().getType(), indices = getIndices().getType();
  unsigned count = indices.getRank();
  rule.reduction(operand.getDimSize(0), {ValueDim{0, 0}, ValueDim{2, 0}});
  for (unsigned d = 1; d < operand.getRank(); ++d)
    rule.factor(operand.getDimSize(d), ValueDim{0, d},
                ValueDim{0, d - 1 + count});
  for (unsigned d = 0; d < count; ++d)
    rule.factor(indices.getDimSize(d), ValueDim{1, d}, ValueDim{0, d});
  rule.linear({0});
  return rule.build();
}

OpCost GatherRowsOp::getCost() {
  OpCost cost = getElementwiseCost(*this);
  cost.bytesRead = cost.bytesWritten + getByteSize(getIndices().getType());
  return cost;
}

LogicalResult GatherRowsOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0], &indices = operands[1];
  HostTensor result(getType());
  unsigned count = indices.getShape().size();
  bool isGood = true;
  int64_t i = 0;
  forEachIndex(getType().getShape(), [&](ArrayRef<int64_t> index) {
    int64_t to = i++;
    if (!isGood)
      return;
    auto row =
        findRow(*this, indices, indices.linearize(index.take_front(count)),
                operands[2], getNumRows());
    if (!(isGood = succeeded(row)) || !*row)
      return;
    SmallVector<int64_t> source = {**row};
    llvm::append_range(source, index.drop_front(count));
    copyElement(result, to, x, x.linearize(source));
  });
  results.push_back(std::move(result));
  return success(isGood);
}

Value GatherRowsOp::emitElement(OpBuilder &builder, Location loc, unsigned,
                                ValueRange indices, ElementLoader load) {
  ScalarBuilder b(builder, loc, getType());
  unsigned count = getIndices().getType().getRank();
  auto [row, isThere] = emitRow(
      builder, loc, load(1, indices.take_front(count)), getIndices().getType(),
      load(2, b.index(0)), getNumbers().getType(),
      getOperand().getType().getDimSize(0), getNumRows());
  SmallVector<Value> source = {row};
  llvm::append_range(source, indices.drop_front(count));
  return b.select(isThere, load(0, source), b.constant(0.0));
}

//===----------------------------------------------------------------------===//
// scatter_add_rows
//===----------------------------------------------------------------------===//

LogicalResult ScatterAddRowsOp::inferReturnTypes(MLIRContext *,
                                                 std::optional<Location> loc,
                                                 Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  auto indices = cast<RankedTensorType>(adaptor.getIndices().getType());
  if (failed(
          verifyRows(getOperationName(), loc, operand,
                     cast<RankedTensorType>(adaptor.getNumbers().getType()))))
    return failure();
  Type expected = operand.clone(getSlicesShape(operand, indices, 0));
  if (adaptor.getUpdates().getType() != expected)
    return emitOptionalError(
        loc, "'graph.scatter_add_rows' op expected updates of type ", expected,
        ", but got ", adaptor.getUpdates().getType());
  types.push_back(operand);
  return success();
}

LogicalResult
ScatterAddRowsOp::differentiate(OpBuilder &builder, ValueRange resultCotangents,
                                ArrayRef<bool> wanted,
                                SmallVectorImpl<Value> &cotangents) {
  cotangents.append(4, Value());
  Value dy = resultCotangents[0];
  if (!dy || !isa<FloatType>(getType().getElementType()))
    return success();
  if (wanted[0])
    cotangents[0] = dy;
  if (wanted[2])
    cotangents[2] = GatherRowsOp::create(builder, getLoc(), dy, getIndices(),
                                         getNumbers(), getNumRows());
  return success();
}

ShardingRule ScatterAddRowsOp::getShardingRule() {
  ShardingRuleBuilder rule(*this);
  auto operand = getOperand().getType(), indices = getIndices().getType();
  unsigned count = indices.getRank();
  rule.factor(operand.getDimSize(0), {ValueDim{0, 0}, ValueDim{3, 0}},
              ValueDim{0, 0});
  for (unsigned d = 1; d < operand.getRank(); ++d)
    rule.factor(operand.getDimSize(d),
                {ValueDim{0, d}, ValueDim{2, d - 1 + count}}, ValueDim{0, d});
  for (unsigned d = 0; d < count; ++d)
    addUpdatesFactor(rule, *this, ScatterKind::Add, indices.getDimSize(d),
                     {ValueDim{1, d}, ValueDim{2, d}});
  addLinearSets(rule, *this, ScatterKind::Add);
  return rule.build();
}

LogicalResult ScatterAddRowsOp::evaluate(ArrayRef<HostTensor> operands,
                                         SmallVectorImpl<HostTensor> &results) {
  HostTensor result = operands[0];
  const HostTensor &indices = operands[1], &updates = operands[2];
  unsigned count = indices.getShape().size();
  bool isGood = true;
  int64_t i = 0;
  forEachIndex(updates.getShape(), [&](ArrayRef<int64_t> index) {
    int64_t from = i++;
    if (!isGood)
      return;
    auto row =
        findRow(*this, indices, indices.linearize(index.take_front(count)),
                operands[3], getNumRows());
    if (!(isGood = succeeded(row)) || !*row)
      return;
    SmallVector<int64_t> coordinates = {**row};
    llvm::append_range(coordinates, index.drop_front(count));
    int64_t at = result.linearize(coordinates);
    if (result.isFloat())
      result.setDouble(at, result.getDouble(at) + updates.getDouble(from));
    else
      result.setInt(at, int64_t(uint64_t(result.getInt(at)) +
                                uint64_t(updates.getInt(from))));
  });
  results.push_back(std::move(result));
  return success(isGood);
}

/// An element of the result depends on all indices.
int64_t ScatterAddRowsOp::getLoopRows() { return 1; }

LogicalResult ScatterAddRowsOp::emitLoops(OpBuilder &builder, Location loc,
                                          ValueRange operands,
                                          ValueRange results, Value, Value) {
  auto type = getType(), indices = getIndices().getType(),
       numbers = getNumbers().getType();
  Type elementType = type.getElementType();
  Value result = results[0];
  emitLoopNest(builder, loc, type.getShape(), {},
               [&](OpBuilder &, Location, ValueRange index,
                   ValueRange) -> SmallVector<Value> {
                 Value x =
                     emitLoad(builder, loc, operands[0], index, elementType);
                 emitStore(builder, loc, x, result, index, elementType);
                 return {};
               });
  ScalarBuilder b(builder, loc, elementType);
  Value first =
      emitLoad(builder, loc, operands[3], b.index(0), numbers.getElementType());
  emitLoopNest(builder, loc, indices.getShape(), {},
               [&](OpBuilder &, Location, ValueRange outer,
                   ValueRange) -> SmallVector<Value> {
                 Value given = emitLoad(builder, loc, operands[1], outer,
                                        indices.getElementType());
                 auto [row, isThere] =
                     emitRow(builder, loc, given, indices, first, numbers,
                             type.getDimSize(0), getNumRows());
                 auto branch = scf::IfOp::create(builder, loc, isThere);
                 OpBuilder::InsertionGuard guard(builder);
                 builder.setInsertionPointToStart(branch.thenBlock());
                 emitLoopNest(
                     builder, loc, type.getShape().drop_front(), {},
                     [&, row = row](OpBuilder &, Location, ValueRange inner,
                                    ValueRange) -> SmallVector<Value> {
                       SmallVector<Value> from(outer), to = {row};
                       llvm::append_range(from, inner);
                       llvm::append_range(to, inner);
                       Value update = emitLoad(builder, loc, operands[2], from,
                                               elementType);
                       Value old =
                           emitLoad(builder, loc, result, to, elementType);
                       emitStore(builder, loc, b.add(old, update), result, to,
                                 elementType);
                       return {};
                     });
                 return {};
               });
  return success();
}
