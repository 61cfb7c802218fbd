//===- SharedScalars.cpp - Constants apart for each use -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/SharedScalars.h"
#include "dialects/Interfaces/Cost.h"
#include "dialects/Interfaces/ShardingRule.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::dist;

/// Constants, and ops on nothing but such values or scalars: cheap, and often
/// shared by common-subexpression elimination between unrelated places.
static bool isScalarWork(Operation *op) {
  if (!isa<ShardingRuleOpInterface>(op) || !isPure(op))
    return false;
  return llvm::all_of(op->getOperands(), [](Value operand) {
    if (hasOneElement(operand.getType()))
      return true;
    Operation *definition = operand.getDefiningOp();
    return definition && definition->getNumOperands() == 0 &&
           isa<ShardingRuleOpInterface>(definition);
  });
}

void mlir::dist::copySharedScalarWork(Block &block) {
  // Backward, so that the copies of a broadcast then split its constant.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.getNumResults() != 1 || !isScalarWork(&op))
      continue;
    Type type = op.getResult(0).getType();
    if (!isa<RankedTensorType>(type) || hasOneElement(type))
      continue;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op.getResult(0).getUses())
      uses.push_back(&use);
    if (uses.empty())
      continue;
    OpBuilder builder(&op);
    builder.setInsertionPointAfter(&op);
    for (OpOperand *use : llvm::drop_begin(uses))
      use->set(builder.clone(op)->getResult(0));
  }
}
