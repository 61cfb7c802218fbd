//===- UpdateSlice.cpp - Where a variable's update begins -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Strategy/UpdateSlice.h"
#include "dialects/Interfaces/ShardingRule.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether every operand that has dims goes element by element into the result.
static bool isElementwise(Operation *op) {
  auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
  if (!sharded || op->getNumResults() != 1)
    return false;
  ShardingRule rule = sharded.getShardingRule();
  return llvm::all_of(rule.operands, [&](const TensorFactors &operand) {
    return operand == rule.results[0];
  });
}

/// Whether the op gives floats a wider type.
static bool widens(Operation *op) {
  if (!isa<graph::ConvertOp>(op))
    return false;
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(op->getOperand(0)));
  auto to = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0)));
  return from && to && from.getWidth() < to.getWidth();
}

UpdateSlice::UpdateSlice(func::FuncOp entry, ArrayRef<graph::VariableOp> state,
                         const VariableTable &table)
    : entry(entry) {
  graph::VariableOp variable = state.front();
  ArrayRef<int64_t> shape = variable.getType().getShape();
  auto hasShape = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.getShape() == shape;
  };
  SmallVector<Value> work;
  Operation *terminator = entry.front().getTerminator();
  for (graph::VariableOp one : state)
    for (unsigned result : table.findResults(entry, one))
      if (Value value = terminator->getOperand(result); hasShape(value))
        work.push_back(value);
  llvm::SmallPtrSet<Value, 16> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      graph::VariableOp other = table.findOf(argument);
      if (other && other.getGroup() == "accumulator" &&
          !llvm::is_contained(state, other))
        entering.insert(value);
      continue;
    }
    Operation *op = value.getDefiningOp();
    // Constants and broadcast scalars (rates, masks) are cut as asked for.
    bool hasOperand = llvm::any_of(op->getOperands(), hasShape);
    // In mixed precision the gradient is what is f32 again: sums stay so.
    if (widens(op)) {
      entering.insert(value);
      continue;
    }
    if (!isElementwise(op)) {
      if (hasOperand || llvm::any_of(op->getOperands(), [](Value operand) {
            auto type = dyn_cast<RankedTensorType>(operand.getType());
            return type && type.getNumElements() > 1;
          }))
        entering.insert(value);
      continue;
    }
    ops.insert(op);
    for (Value operand : op->getOperands())
      if (hasShape(operand))
        work.push_back(operand);
  }
  findGradient();
}

void UpdateSlice::findGradient() {
  if (entering.size() <= 1) {
    gradient = entering.empty() ? Value() : entering.front();
    return;
  }
  // In program order, the first value that depends on all that enters.
  DenseMap<Value, llvm::SmallPtrSet<Value, 4>> from;
  for (Value value : entering)
    from[value].insert(value);
  SmallVector<Operation *> ordered(ops.begin(), ops.end());
  llvm::sort(ordered,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : ordered) {
    llvm::SmallPtrSet<Value, 4> sources;
    for (Value operand : op->getOperands())
      if (auto found = from.find(operand); found != from.end())
        sources.insert_range(found->second);
    bool all = sources.size() == entering.size();
    from[op->getResult(0)] = std::move(sources);
    if (all) {
      gradient = op->getResult(0);
      return;
    }
  }
}
