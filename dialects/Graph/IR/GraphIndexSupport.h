//===- GraphIndexSupport.h - Indices that are tensor elements -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to GraphIndex.cpp, GraphScatter.cpp and GraphRows.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHINDEXSUPPORT_H
#define DIALECTS_GRAPH_IR_GRAPHINDEXSUPPORT_H

#include "dialects/Graph/IR/GraphSupport.h"

namespace mlir::dist::graph {

/// The index at `position` of `indices`, counted from the end if negative; -1
/// with an error on `op` if it is out of [0, size).
inline int64_t readIndex(Operation *op, const HostTensor &indices,
                         int64_t position, int64_t size) {
  int64_t given = indices.getInt(position);
  int64_t index = given < 0 && !indices.isUnsigned() ? given + size : given;
  if (index >= 0 && index < size)
    return index;
  op->emitOpError("has index ") << given << " for a dim of size " << size;
  return -1;
}

/// The scalar `given` of element type `type` as an index into [0, size),
/// clamped.
inline Value emitIndex(OpBuilder &builder, Location loc, Value given, Type type,
                       int64_t size) {
  ScalarBuilder b(builder, loc, type);
  Type indexType = builder.getIndexType();
  Value index = b.isUnsigned()
                    ? b.create<arith::IndexCastUIOp>(indexType, given)
                    : b.create<arith::IndexCastOp>(indexType, given);
  if (!b.isUnsigned()) {
    Value isNegative =
        b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, index, b.index(0));
    index = b.select(isNegative, b.addIndex(index, size), index);
  }
  return b.clampIndex(index, size);
}

/// Checks that `axis` names a dim of `type` that is not empty (an index needs
/// something to point at).
inline LogicalResult verifyAxis(StringRef name, std::optional<Location> loc,
                                RankedTensorType type, uint64_t axis) {
  if (axis >= uint64_t(type.getRank()) || type.getDimSize(axis) == 0)
    return emitOptionalError(loc, "'", name,
                             "' op expected axis to name a dim of at least one "
                             "element of ",
                             type, ", but got ", int64_t(axis));
  return success();
}

/// Shape of gather's result and of scatter_add's updates.
inline SmallVector<int64_t> getSlicesShape(RankedTensorType operand,
                                           RankedTensorType indices,
                                           uint64_t axis) {
  SmallVector<int64_t> shape(operand.getShape().take_front(axis));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, operand.getShape().drop_front(axis + 1));
  return shape;
}

/// Shape of gather_nd's result and of scatter_nd's updates: also checks that
/// the operand has the batch dims and the dims that coordinates name.
inline FailureOr<SmallVector<int64_t>>
inferCoordinatesShape(StringRef name, std::optional<Location> loc,
                      RankedTensorType operand, RankedTensorType indices,
                      uint64_t batchDims) {
  int64_t batch = batchDims;
  if (indices.getRank() < 1 || batch < 0 || batch >= indices.getRank() ||
      indices.getShape().back() > operand.getRank() - batch)
    return emitOptionalError(
        loc, "'", name, "' op expected indices of at least ", batchDims + 1,
        " dims whose last one holds at most ", operand.getRank() - batch,
        " coordinates, but got ", indices);
  for (int64_t d = 0; d < batch; ++d)
    if (indices.getDimSize(d) != operand.getDimSize(d))
      return emitOptionalError(loc, "'", name, "' op expected batch dim ", d,
                               " to agree, but got ", operand, " and ",
                               indices);
  int64_t count = indices.getShape().back();
  for (int64_t d = batch; d < batch + count; ++d)
    if (operand.getDimSize(d) == 0)
      return emitOptionalError(loc, "'", name,
                               "' op indexes into the empty dim ", d, " of ",
                               operand);
  SmallVector<int64_t> shape(indices.getShape().drop_back());
  llvm::append_range(shape, operand.getShape().drop_front(batch + count));
  return shape;
}

/// Dims of the updates that no result dim corresponds to: partial results add
/// up only where the operand adds nothing itself.
inline void addUpdatesFactor(ShardingRuleBuilder &rule, Operation *op,
                             ScatterKind kind, int64_t size,
                             ArrayRef<ValueDim> dims) {
  if (kind == ScatterKind::Add && isZero(op->getOperand(0)))
    rule.reduction(size, dims);
  else
    rule.factor(size, dims, {}, FactorKind::NeedReplication);
}

inline void addLinearSets(ShardingRuleBuilder &rule, Operation *op,
                          ScatterKind kind) {
  if (kind != ScatterKind::Add && kind != ScatterKind::Set)
    return;
  rule.linear({0, 2});
  if (isZero(op->getOperand(0)))
    rule.linear({2});
}

/// Cost of reading only the elements that the result has.
inline OpCost getGatherCost(Operation *op) {
  OpCost cost = getElementwiseCost(op);
  cost.bytesRead = cost.bytesWritten;
  for (Value operand : op->getOperands().drop_front())
    cost.bytesRead += getByteSize(operand.getType());
  return cost;
}

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IR_GRAPHINDEXSUPPORT_H
