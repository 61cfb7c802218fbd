//===- DrawnRows.cpp - Random numbers of examples -------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/DrawnRows.h"
#include "dialects/Graph/IR/Graph.h"
#include "passes/Analysis/RowPlaces.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// The operand's dim that is the result's.
std::optional<ExampleDim> DrawnRows::findByRule(OpOperand &use, unsigned result,
                                                ExampleDim row) {
  Operation *op = use.getOwner();
  if (isa<ConcatOp, SliceOp>(op))
    return row;
  if (isa<ReshapeOp>(op))
    return findReshapedRow(row, getShape(op->getResult(0)), getShape(use.get()),
                           batch);
  auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
  if (!sharded)
    return std::nullopt;
  ShardingRule rule = sharded.getShardingRule();
  const DimFactors &held = rule.results[result][row.dim];
  for (auto [dim, factors] :
       llvm::enumerate(rule.operands[use.getOperandNumber()]))
    if (!factors.empty() && factors == held)
      return ExampleDim{unsigned(dim), row.inner};
  return std::nullopt;
}

std::optional<ExampleDim> DrawnRows::findByUse(OpOperand &use) {
  Operation *op = use.getOwner();
  // Labels are along dim 0 of an output.
  if (op->hasTrait<OpTrait::IsTerminator>())
    return !getShape(use.get()).empty() && getShape(use.get())[0] == batch
               ? std::optional(ExampleDim{0, 1})
               : std::nullopt;
  for (auto [r, result] : llvm::enumerate(op->getResults())) {
    SmallVector<ExampleDim, 1> rows(findRows(result));
    if (rows.empty())
      if (std::optional<ExampleDim> row = find(result))
        rows.push_back(*row);
    for (const ExampleDim &row : rows)
      if (std::optional<ExampleDim> own = findByRule(use, r, row))
        if (getShape(use.get())[own->dim] % (batch * own->inner) == 0)
          return own;
  }
  return std::nullopt;
}

std::optional<ExampleDim> DrawnRows::find(Value value) {
  auto known = found.find(value);
  if (known != found.end())
    return known->second;
  std::optional<ExampleDim> row;
  for (OpOperand &use : value.getUses())
    if (!row)
      row = findByUse(use);
  found[value] = row;
  return row;
}
