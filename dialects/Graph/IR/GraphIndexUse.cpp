//===- GraphIndexUse.cpp - Which operands number what -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphPool.h"
#include "dialects/Graph/IR/GraphRows.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Along one dim of the operand that is read (if `reads`) or written.
template <typename OpT> static IndexUse getAlongAxis(OpT op, bool reads) {
  return {op.getIndicesMutable().getOperandNumber(),
          IndexKind::Row,
          {op.getOperand().getType().getDimSize(op.getAxis())},
          reads ? std::optional(0u) : std::nullopt};
}

std::optional<IndexUse> GatherOp::getIndexUse() {
  return getAlongAxis(*this, /*reads=*/true);
}
std::optional<IndexUse> GatherElementsOp::getIndexUse() {
  return getAlongAxis(*this, /*reads=*/true);
}
std::optional<IndexUse> ScatterAddOp::getIndexUse() {
  return getAlongAxis(*this, /*reads=*/false);
}
std::optional<IndexUse> ScatterElementsOp::getIndexUse() {
  return getAlongAxis(*this, /*reads=*/false);
}

std::optional<IndexUse> ScatterRowsOp::getIndexUse() {
  return IndexUse{getIndicesMutable().getOperandNumber(),
                  IndexKind::Row,
                  {int64_t(getSize())},
                  std::nullopt};
}

/// The last dim of the indices holds a coordinate of each of the operand's dims
/// behind the batch's.
template <typename OpT> static IndexUse getCoordinates(OpT op, bool reads) {
  ArrayRef<int64_t> sizes = op.getOperand().getType().getShape().slice(
      op.getBatchDims(), op.getIndices().getType().getShape().back());
  return {op.getIndicesMutable().getOperandNumber(), IndexKind::Row,
          SmallVector<int64_t, 2>(sizes),
          reads ? std::optional(0u) : std::nullopt};
}

std::optional<IndexUse> GatherNDOp::getIndexUse() {
  return getCoordinates(*this, /*reads=*/true);
}
std::optional<IndexUse> ScatterNDOp::getIndexUse() {
  return getCoordinates(*this, /*reads=*/false);
}

/// Of the whole table, where the operand has a part of its rows.
std::optional<IndexUse> GatherRowsOp::getIndexUse() {
  return IndexUse{getIndicesMutable().getOperandNumber(),
                  IndexKind::Row,
                  {int64_t(getNumRows())},
                  0};
}
std::optional<IndexUse> ScatterAddRowsOp::getIndexUse() {
  return IndexUse{getIndicesMutable().getOperandNumber(),
                  IndexKind::Row,
                  {int64_t(getNumRows())},
                  std::nullopt};
}

std::optional<IndexUse> CrossEntropyOp::getIndexUse() {
  return IndexUse{getLabelsMutable().getOperandNumber(),
                  IndexKind::Number,
                  {getLogits().getType().getShape().back()},
                  std::nullopt};
}

/// Places within the window, as max_pool gives them.
std::optional<IndexUse> MaxPoolGradOp::getIndexUse() {
  return IndexUse{getIndicesMutable().getOperandNumber(),
                  IndexKind::Number,
                  {std::accumulate(getWindow().begin(), getWindow().end(),
                                   int64_t(1), std::multiplies<int64_t>())},
                  std::nullopt};
}

/// A one-hot encoding: labels against 0, 1, 2, ...
std::optional<IndexUse> CompareOp::getIndexUse() {
  for (unsigned labels : {0u, 1u}) {
    Value other = getOperation()->getOperand(1 - labels);
    while (auto broadcast = other.getDefiningOp<BroadcastOp>())
      other = broadcast.getOperand();
    if (auto iota = other.getDefiningOp<IotaOp>())
      return IndexUse{
          labels,
          IndexKind::Number,
          {cast<RankedTensorType>(iota.getType()).getDimSize(iota.getDim())},
          std::nullopt};
  }
  return std::nullopt;
}
