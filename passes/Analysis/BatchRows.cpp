//===- BatchRows.cpp - Whether a batch's examples meet -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/BatchRows.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Indexing.h"
#include "dialects/Interfaces/ShardingRule.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
using RowDim = ExampleDim;

class RowTracker {
public:
  explicit RowTracker(func::FuncOp entry);
  /// Fails where examples meet.
  LogicalResult visit(Operation *op);
  ArrayRef<RowDim> find(Value value) const {
    auto it = rows.find(value);
    return it == rows.end() ? ArrayRef<RowDim>() : it->second;
  }

private:
  LogicalResult visitReshape(ReshapeOp op);
  LogicalResult visitConcat(ConcatOp op);
  LogicalResult visitSlice(SliceOp op);
  LogicalResult visitByRule(ShardingRuleOpInterface op);
  LogicalResult add(Value value, RowDim row);
  const RowDim *find(Value value, unsigned dim) const;

  int64_t batch = 1;
  Value mask;
  DenseMap<Value, SmallVector<RowDim, 1>> rows;
};
} // namespace

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

RowTracker::RowTracker(func::FuncOp entry) {
  for (BlockArgument argument : entry.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto dim = entry.getArgAttrOfType<IntegerAttr>(index, kBatchDimAttr);
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!dim || !type || dim.getInt() < 0 || dim.getInt() >= type.getRank())
      continue;
    auto role = entry.getArgAttrOfType<StringAttr>(index, kRoleAttr);
    if (role && role.getValue() == "mask")
      mask = argument;
    batch = type.getDimSize(dim.getInt());
    rows[argument].push_back({unsigned(dim.getInt()), 1});
  }
}

const RowDim *RowTracker::find(Value value, unsigned dim) const {
  auto it = rows.find(value);
  if (it == rows.end())
    return nullptr;
  for (const RowDim &row : it->second)
    if (row.dim == dim)
      return &row;
  return nullptr;
}

LogicalResult RowTracker::add(Value value, RowDim row) {
  if (const RowDim *other = find(value, row.dim))
    return success(*other == row);
  rows[value].push_back(row);
  return success();
}

/// The dim of the result that holds all examples, whatever else it holds.
LogicalResult RowTracker::visitReshape(ReshapeOp op) {
  ArrayRef<int64_t> from = getShape(op.getOperand()), to = getShape(op);
  for (const RowDim &row : rows.lookup(op.getOperand())) {
    int64_t inner = row.inner;
    for (int64_t size : from.drop_front(row.dim + 1))
      inner *= size;
    int64_t stride = 1;
    unsigned dim = to.size();
    while (dim > 0 && stride * to[dim - 1] <= inner)
      stride *= to[--dim];
    if (dim == 0 || inner % stride || stride * to[dim - 1] % (inner * batch) ||
        failed(add(op.getResult(), {dim - 1, inner / stride})))
      return failure();
  }
  return success();
}

/// Several batches may stand behind one another, as in siamese models.
LogicalResult RowTracker::visitConcat(ConcatOp op) {
  auto axis = unsigned(op.getAxis());
  const RowDim *first = find(op.getInputs().front(), axis);
  for (Value input : op.getInputs()) {
    const RowDim *row = find(input, axis);
    if (bool(row) != bool(first) || (row && !(*row == *first)))
      return failure();
    for (const RowDim &other : rows.lookup(input))
      if (failed(add(op.getResult(), other)))
        return failure();
  }
  return success();
}

LogicalResult RowTracker::visitSlice(SliceOp op) {
  for (const RowDim &row : rows.lookup(op.getOperand())) {
    int64_t start = op.getStarts()[row.dim], limit = op.getLimits()[row.dim];
    int64_t whole = batch * row.inner;
    if (op.getStrides()[row.dim] != 1 || start % whole || limit % whole ||
        failed(add(op.getResult(), row)))
      return failure();
  }
  return success();
}

LogicalResult RowTracker::visitByRule(ShardingRuleOpInterface op) {
  ShardingRule rule = op.getShardingRule();
  // Which elements of a table are read its indices say, and models that index
  // the batch name each example's own place.
  std::optional<unsigned> table;
  if (auto indexing = dyn_cast<IndexingOpInterface>(op.getOperation()))
    if (std::optional<IndexUse> use = indexing.getIndexUse())
      table = use->table;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    for (const RowDim &row : rows.lookup(operand)) {
      ArrayRef<unsigned> factors = rule.operands[i][row.dim];
      if (factors.size() != 1 ||
          rule.factors[factors[0]].kind != FactorKind::PassThrough) {
        if (table == unsigned(i))
          continue;
        return failure();
      }
      for (auto [r, result] : llvm::enumerate(op->getResults()))
        for (auto [dim, held] : llvm::enumerate(rule.results[r]))
          if (llvm::is_contained(held, factors[0]) &&
              failed(add(result, {unsigned(dim), row.inner})))
            return failure();
    }
  }
  return success();
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

Operation *mlir::dist::findMixedRows(func::FuncOp entry, ValueRange outputs) {
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> open(outputs.begin(), outputs.end());
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (op && needed.insert(op).second)
      llvm::append_range(open, op->getOperands());
  }
  RowTracker tracker(entry);
  for (Operation &op : entry.front())
    if (needed.contains(&op) && failed(tracker.visit(&op)))
      return &op;
  return nullptr;
}

llvm::DenseMap<Value, ExampleDim>
mlir::dist::findExampleDims(func::FuncOp entry) {
  RowTracker tracker(entry);
  llvm::DenseMap<Value, ExampleDim> found;
  for (Operation &op : entry.front()) {
    if (failed(tracker.visit(&op)))
      continue;
    for (Value result : op.getResults())
      if (ArrayRef<RowDim> rows = tracker.find(result); rows.size() == 1)
        found[result] = rows.front();
  }
  return found;
}

std::string mlir::dist::describeBatchNumber(ModuleOp module) {
  auto node = module->getAttrOfType<StringAttr>("graph.batch_number");
  return node ? ("node '" + node.getValue() +
                 "' makes the size of the batch a number")
                    .str()
              : std::string();
}

std::string mlir::dist::describeNode(Operation *op) {
  if (auto name = op->getLoc()->findInstanceOf<NameLoc>())
    return ("node '" + name.getName().getValue() + "'").str();
  return ("'" + op->getName().getStringRef() + "'").str();
}
