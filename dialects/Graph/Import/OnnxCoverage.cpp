//===- OnnxCoverage.cpp - What is known of a node's ops -------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxModel.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

static bool isFloatTensor(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

/// Whether the op's derivative can be built: by building it, and throwing it
/// away. True also of ops that have none to give.
static bool canDifferentiate(Operation *op) {
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return false;
  SmallVector<Value> cotangents, given;
  SmallVector<bool> wanted;
  for (Value result : op->getResults())
    given.push_back(isFloatTensor(result) ? result : Value());
  for (Value operand : op->getOperands())
    wanted.push_back(isFloatTensor(operand));
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Operation *next = op->getNextNode();
  ScopedDiagnosticHandler quiet(op->getContext(),
                                [](Diagnostic &) { return success(); });
  bool good = succeeded(
      differentiable.differentiate(builder, given, wanted, cotangents));
  Operation *last = next ? next->getPrevNode() : &op->getBlock()->back();
  while (last != op) {
    Operation *before = last->getPrevNode();
    last->erase();
    last = before;
  }
  return good;
}

void mlir::dist::graph::describeOps(Block &block, Operation *before,
                                    CoverageRow &row) {
  SmallVector<Operation *> made;
  for (Operation *op = before          ? before->getNextNode()
                       : block.empty() ? nullptr
                                       : &block.front();
       op; op = op->getNextNode())
    if (!isa<ConstantOp, ReadOp>(op))
      made.push_back(op);
  if (made.empty())
    return;
  row.kernel = "generated";
  auto result = dyn_cast<RankedTensorType>(made.back()->getResult(0).getType());
  SmallVector<bool> whole(result ? result.getRank() : 0, false);
  for (Operation *op : made) {
    if (sumsProducts(op))
      row.kernel = "library";
    bool isFloat = llvm::any_of(op->getResults(), isFloatTensor) &&
                   llvm::any_of(op->getOperands(), isFloatTensor);
    if (isFloat && row.differentiable != "no")
      row.differentiable = canDifferentiate(op) ? "yes" : "no";
    auto rules = dyn_cast<ShardingRuleOpInterface>(op);
    if (!rules || !result || op->getResult(0).getType() != result)
      continue;
    // Ops of the result's shape: what one of them needs whole stays so.
    ShardingRule rule = rules.getShardingRule();
    for (auto [dim, factors] : llvm::enumerate(rule.results[0]))
      whole[dim] =
          whole[dim] || factors.empty() ||
          llvm::any_of(factors, [&](unsigned factor) {
            return rule.factors[factor].kind == FactorKind::NeedReplication;
          });
  }
  std::string split;
  for (auto [dim, isWhole] : llvm::enumerate(whole))
    if (!isWhole && result.getDimSize(dim) != 1)
      split += (split.empty() ? "" : ",") + std::to_string(dim);
  row.split = split.empty() ? "none" : split;
  // What only changes the form of its input computes nothing.
  if (made.size() == 1 && isa<ReshapeOp>(made.front()))
    row.kernel = "-";
}
