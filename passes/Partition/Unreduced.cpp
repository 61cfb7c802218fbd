//===- Unreduced.cpp - Who makes, passes on, and must not see partial sums ===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/Unreduced.h"
#include "dialects/Graph/IR/Graph.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::readsElements(OpOperand &use) {
  auto sharded = dyn_cast<ShardingRuleOpInterface>(use.getOwner());
  return !sharded || sharded.getShardingRule().reads(use.getOperandNumber());
}

UnreducedEffect
mlir::dist::getUnreducedEffect(Operation *op, StringAttr axis, MeshOp mesh,
                               llvm::function_ref<bool(Value)> isUnreduced) {
  UnreducedEffect effect;
  auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
  if (!sharded) {
    effect.misuse = llvm::any_of(op->getOperands(), isUnreduced);
    return effect;
  }
  ShardingRule rule = sharded.getShardingRule();
  auto isPartial = [&](unsigned operand) {
    return rule.reads(operand) && isUnreduced(op->getOperand(operand));
  };
  bool any = llvm::any_of(llvm::seq(op->getNumOperands()), isPartial);
  AxisLists factors = getFactorAxes(op, rule, mesh);
  bool splitsAFactor = false;
  for (auto [factor, axes] : llvm::zip(rule.factors, factors)) {
    if (!llvm::is_contained(axes, axis))
      continue;
    splitsAFactor = true;
    if (factor.kind == FactorKind::Reduction) {
      effect.partial = true;
      effect.kind = factor.reduction;
    }
  }
  if (!any)
    return effect;
  // An axis cannot both split the op's work and number its partial operands.
  if (splitsAFactor) {
    effect.misuse = true;
    return effect;
  }
  std::optional<SmallVector<unsigned>> missing;
  for (auto [number, set] : llvm::enumerate(rule.linear)) {
    bool covers = true;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      covers &= !isPartial(i) || llvm::is_contained(set, i);
    if (!covers)
      continue;
    SmallVector<unsigned> lacking;
    for (unsigned i : set)
      if (!isPartial(i) && !graph::isZero(op->getOperand(i)))
        lacking.push_back(i);
    if (lacking.empty()) {
      effect.partial = true;
      effect.linearSet = number;
      return effect;
    }
    if (!missing || lacking.size() < missing->size())
      missing = lacking;
  }
  effect.misuse = true;
  if (missing)
    effect.missing = *missing;
  return effect;
}
