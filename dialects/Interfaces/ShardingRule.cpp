//===- ShardingRule.cpp - Builds sharding rules -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/ShardingRule.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace mlir::dist;

static TensorFactors emptyRow(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return TensorFactors(tensor ? tensor.getRank() : 0);
}

ShardingRuleBuilder::ShardingRuleBuilder(Operation *op) {
  for (Type type : op->getOperandTypes())
    rule.operands.push_back(emptyRow(type));
  for (Type type : op->getResultTypes())
    rule.results.push_back(emptyRow(type));
}

ShardingRuleBuilder &ShardingRuleBuilder::factor(int64_t size,
                                                 ArrayRef<ValueDim> operands,
                                                 ArrayRef<ValueDim> results,
                                                 FactorKind kind,
                                                 Reduction reduction) {
  unsigned id = rule.factors.size();
  rule.factors.push_back({size, kind, reduction});
  for (ValueDim at : operands)
    rule.operands[at.value][at.dim].push_back(id);
  for (ValueDim at : results)
    rule.results[at.value][at.dim].push_back(id);
  return *this;
}

ShardingRuleBuilder &ShardingRuleBuilder::linear(ArrayRef<unsigned> operands) {
  rule.linear.emplace_back(operands);
  return *this;
}

ShardingRule
mlir::dist::getElementwiseRule(Operation *op,
                               ArrayRef<SmallVector<unsigned>> linear) {
  ShardingRuleBuilder builder(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    SmallVector<ShardingRuleBuilder::ValueDim> operands, results;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      operands.push_back({i, unsigned(dim)});
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      results.push_back({i, unsigned(dim)});
    builder.factor(type.getDimSize(dim), operands, results);
  }
  for (const auto &set : linear)
    builder.linear(set);
  return builder.build();
}

FailureOr<Operation *> mlir::dist::cloneWithLocalTypes(Operation *op,
                                                       OpBuilder &builder,
                                                       ValueRange operands,
                                                       TypeRange resultTypes) {
  Operation *clone = op->cloneWithoutRegions();
  clone->setOperands(operands);
  for (auto [result, type] : llvm::zip(clone->getResults(), resultTypes))
    result.setType(type);
  builder.insert(clone);
  return clone;
}

bool mlir::dist::hasWindows(const ShardingRule &rule) {
  return llvm::any_of(rule.factors, [](const Factor &factor) {
    return factor.kind == FactorKind::Permutation;
  });
}

bool mlir::dist::sumsProducts(const ShardingRule &rule) {
  if (rule.operands.size() < 2)
    return false;
  bool isProduct =
      rule.linear.size() == 2 && llvm::all_of(rule.linear, [](const auto &set) {
        return set.size() == 1;
      });
  if (isProduct && hasWindows(rule))
    return true;
  return llvm::any_of(llvm::enumerate(rule.factors), [&](auto indexed) {
    const auto &[f, factor] = indexed;
    if (factor.kind != FactorKind::Reduction)
      return false;
    unsigned count = 0;
    for (const TensorFactors &tensor : rule.operands)
      count += llvm::any_of(tensor, [&, f = f](const DimFactors &dim) {
        return llvm::is_contained(dim, unsigned(f));
      });
    return count >= 2;
  });
}

bool mlir::dist::sumsProducts(Operation *op) {
  auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
  return sharded && op->getNumOperands() >= 2 &&
         sumsProducts(sharded.getShardingRule());
}
