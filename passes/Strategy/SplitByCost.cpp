//===- SplitByCost.cpp - Variables split each by itself -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Strategy/SplitByCost.h"
#include "dialects/Interfaces/Cost.h"
#include "dialects/Interfaces/Indexing.h"
#include "passes/Strategy/SplitPatterns.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Prices the splits of one entry's variables.
class Pricer {
public:
  Pricer(func::FuncOp entry, const VariableTable &table, int64_t parts,
         bool mayPad);
  std::optional<SingleSplit> findBest(graph::VariableOp variable);

private:
  std::optional<double> price(Value value, unsigned dim);
  std::optional<double> priceUse(OpOperand &use, unsigned dim);
  bool hasGradient(Value value) const;

  func::FuncOp entry;
  const VariableTable &table;
  int64_t parts;
  bool mayPad, trains;
  /// What of a tensor is elsewhere.
  double others;
};
} // namespace

Pricer::Pricer(func::FuncOp entry, const VariableTable &table, int64_t parts,
               bool mayPad)
    : entry(entry), table(table), parts(parts), mayPad(mayPad),
      others(double(parts - 1) / double(parts)) {
  auto module = entry->getParentOfType<ModuleOp>();
  trains =
      module.lookupSymbol("train_step") || module.lookupSymbol("gradients");
}

/// Whether something before it is trained, so that its cotangent is needed.
bool Pricer::hasGradient(Value value) const {
  if (!trains || !isa<FloatType>(getElementTypeOrSelf(value)))
    return false;
  DenseSet<Value> seen;
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value one = work.pop_back_val();
    if (!seen.insert(one).second)
      continue;
    if (Operation *definition = one.getDefiningOp()) {
      llvm::append_range(work, definition->getOperands());
      continue;
    }
    graph::VariableOp variable = table.findOf(cast<BlockArgument>(one));
    if (variable && variable.getTrainable())
      return true;
  }
  return false;
}

/// Of an op that takes the variable in parts of `dim`; none where it needs it
/// whole.
std::optional<double> Pricer::priceUse(OpOperand &use, unsigned dim) {
  Operation *op = use.getOwner();
  auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
  if (!sharded)
    return std::nullopt;
  ShardingRule rule = sharded.getShardingRule();
  std::optional<unsigned> factor = getMajorFactor(
      rule, rule.operands[use.getOperandNumber()][dim], parts, mayPad);
  if (!factor)
    return std::nullopt;
  auto isSplit = [&](const TensorFactors &tensor) {
    return llvm::any_of(tensor, [&](const DimFactors &factors) {
      return llvm::is_contained(factors, *factor);
    });
  };
  auto bytesOf = [](Value value) {
    return double(getByteSize(value.getType()));
  };
  double sent = 0;
  switch (rule.factors[*factor].kind) {
  case FactorKind::PassThrough:
    // The result is split, and gathered for what follows.
    for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results))
      if (isSplit(tensor))
        sent += others * bytesOf(result);
    break;
  case FactorKind::Reduction:
    // Partial results: an all-reduce sends each twice.
    for (Value result : op->getResults())
      sent += 2 * others * bytesOf(result);
    break;
  case FactorKind::Permutation:
  case FactorKind::NeedReplication:
    return std::nullopt;
  }
  // The other way in the backward pass: of an operand without the factor each
  // rank has a part of the cotangent's sum, of one with it a part.
  for (OpOperand &other : op->getOpOperands())
    if (&other != &use && hasGradient(other.get()))
      sent += (isSplit(rule.operands[other.getOperandNumber()]) ? 1 : 2) *
              others * bytesOf(other.get());
  return sent;
}

/// Of all uses of a variable's view, split along its dim `dim`.
std::optional<double> Pricer::price(Value value, unsigned dim) {
  double sent = 0;
  for (OpOperand &use : value.getUses()) {
    Operation *op = use.getOwner();
    if (isa<func::ReturnOp>(op))
      continue;
    std::optional<double> own;
    auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
    if (sharded && op->getNumOperands() == 1 && op->getNumResults() == 1) {
      // Another layout or type of it is split as it is.
      ShardingRule rule = sharded.getShardingRule();
      auto factor = getMajorFactor(rule, rule.operands[0][dim], parts, mayPad);
      for (auto [to, factors] : llvm::enumerate(rule.results[0]))
        if (factor && !factors.empty() && factors.front() == *factor &&
            rule.factors[*factor].kind == FactorKind::PassThrough)
          own = price(op->getResult(0), to);
    } else {
      own = priceUse(use, dim);
    }
    if (!own)
      return std::nullopt;
    sent += *own;
  }
  return sent;
}

std::optional<SingleSplit> Pricer::findBest(graph::VariableOp variable) {
  BlockArgument argument = table.findArgument(entry, variable);
  if (!argument)
    return std::nullopt;
  auto type = cast<RankedTensorType>(argument.getType());
  double bytes = double(getByteSize(type));
  bool hasOwnGradient = trains && variable.getTrainable();
  std::optional<SingleSplit> best;
  // Of equals the last dim: results mostly have it.
  for (int64_t dim = type.getRank(); dim-- > 0;) {
    int64_t size = type.getDimSize(dim);
    if (size % parts && !(mayPad && isSplitWorthwhile(size, parts)))
      continue;
    std::optional<double> sent = price(argument, dim);
    if (sent && (!best || *sent < best->sent))
      best = SingleSplit{variable, unsigned(dim),
                         (hasOwnGradient ? 2 : 1) * others * bytes, *sent};
  }
  return best;
}

/// Whether it is worth a split at all: what contractions and lookups read.
static bool isTableOrWeight(OpOperand &use) {
  Operation *op = use.getOwner();
  if (sumsProducts(op))
    return true;
  auto indexing = dyn_cast<IndexingOpInterface>(op);
  std::optional<IndexUse> index =
      indexing ? indexing.getIndexUse() : std::nullopt;
  return index && index->table == use.getOperandNumber();
}

SmallVector<SingleSplit>
mlir::dist::findSingleSplits(func::FuncOp entry, const VariableTable &table,
                             int64_t parts, bool mayPad) {
  Pricer pricer(entry, table, parts, mayPad);
  SmallVector<SingleSplit> all, worthwhile;
  DenseSet<Operation *> seen;
  for (Operation &op : entry.front())
    for (OpOperand &use : op.getOpOperands()) {
      if (!isTableOrWeight(use))
        continue;
      graph::VariableOp variable = findVariableOf(use.get(), table);
      if (!variable || variable.getGroup() != "parameter" ||
          cast<RankedTensorType>(variable.getType()).getRank() < 2 ||
          !seen.insert(variable).second)
        continue;
      std::optional<SingleSplit> best = pricer.findBest(variable);
      if (!best)
        continue;
      all.push_back(*best);
      if (best->isWorthwhile())
        worthwhile.push_back(*best);
    }
  if (!worthwhile.empty() || all.empty())
    return worthwhile;
  return {
      *llvm::max_element(all, [](const SingleSplit &a, const SingleSplit &b) {
        return a.saved - a.sent < b.saved - b.sent;
      })};
}
