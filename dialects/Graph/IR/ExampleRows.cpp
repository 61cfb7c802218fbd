//===- ExampleRows.cpp - Where values hold the examples of a batch --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/ExampleRows.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/ShardingRule.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

std::optional<ExampleDim> mlir::dist::findReshapedRow(ExampleDim row,
                                                      ArrayRef<int64_t> from,
                                                      ArrayRef<int64_t> to,
                                                      int64_t batch) {
  int64_t inner = row.inner;
  for (int64_t size : from.drop_front(row.dim + 1))
    inner *= size;
  int64_t stride = 1;
  unsigned dim = to.size();
  while (dim > 0 && stride * to[dim - 1] <= inner)
    stride *= to[--dim];
  if (dim == 0 || inner % stride || stride * to[dim - 1] % (inner * batch))
    return std::nullopt;
  return ExampleDim{dim - 1, inner / stride};
}

const ExampleDim *RowTracker::find(Value value, unsigned dim) const {
  auto it = rows.find(value);
  if (it == rows.end())
    return nullptr;
  for (const ExampleDim &row : it->second)
    if (row.dim == dim)
      return &row;
  return nullptr;
}

LogicalResult RowTracker::add(Value value, ExampleDim row) {
  if (const ExampleDim *other = find(value, row.dim))
    return success(*other == row);
  rows[value].push_back(row);
  return success();
}

LogicalResult RowTracker::visitReshape(ReshapeOp op) {
  ArrayRef<int64_t> from = getShape(op.getOperand()), to = getShape(op);
  for (const ExampleDim &row : rows.lookup(op.getOperand())) {
    std::optional<ExampleDim> moved = findReshapedRow(row, from, to, batch);
    if (!moved || failed(add(op.getResult(), *moved)))
      return failure();
  }
  return success();
}

/// Several batches may stand behind one another, as in siamese models.
LogicalResult RowTracker::visitConcat(ConcatOp op) {
  auto axis = unsigned(op.getAxis());
  const ExampleDim *first = find(op.getInputs().front(), axis);
  for (Value input : op.getInputs()) {
    const ExampleDim *row = find(input, axis);
    if (bool(row) != bool(first) || (row && !(*row == *first)))
      return failure();
    for (const ExampleDim &other : rows.lookup(input))
      if (failed(add(op.getResult(), other)))
        return failure();
  }
  return success();
}

LogicalResult RowTracker::visitSlice(SliceOp op) {
  for (const ExampleDim &row : rows.lookup(op.getOperand())) {
    int64_t start = op.getStarts()[row.dim], limit = op.getLimits()[row.dim];
    int64_t whole = batch * row.inner;
    if (op.getStrides()[row.dim] != 1 || start % whole || limit % whole ||
        failed(add(op.getResult(), row)))
      return failure();
  }
  return success();
}

/// Results keep their rows where examples meet in them, too.
LogicalResult RowTracker::visitByRule(ShardingRuleOpInterface op) {
  ShardingRule rule = op.getShardingRule();
  LogicalResult meets = success();
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    for (const ExampleDim &row : rows.lookup(operand)) {
      const DimFactors &factors = rule.operands[i][row.dim];
      if (factors.size() != 1 ||
          rule.factors[factors[0]].kind != FactorKind::PassThrough)
        meets = failure();
      for (auto [r, result] : llvm::enumerate(op->getResults()))
        for (auto [dim, held] : llvm::enumerate(rule.results[r]))
          if (!held.empty() && held == factors &&
              failed(add(result, {unsigned(dim), row.inner})))
            meets = failure();
    }
  }
  return meets;
}

LogicalResult RowTracker::visit(Operation *op) {
  if (batch == 1 || llvm::none_of(op->getOperands(), [&](Value operand) {
        return rows.contains(operand);
      }))
    return success();
  if (mask && llvm::is_contained(op->getOperands(), mask)) {
    // It leaves copies out of what it combines.
    for (Value result : op->getResults())
      if (result.getType() == op->getOperand(0).getType())
        rows[result] = rows.lookup(op->getOperand(0));
    return success();
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return visitReshape(reshape);
  if (auto concat = dyn_cast<ConcatOp>(op))
    return visitConcat(concat);
  if (auto slice = dyn_cast<SliceOp>(op))
    return visitSlice(slice);
  if (auto sharded = dyn_cast<ShardingRuleOpInterface>(op))
    return visitByRule(sharded);
  return success();
}
