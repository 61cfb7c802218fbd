//===- SplitPatterns.cpp - Where a model lets itself be split -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Strategy/SplitPatterns.h"
#include "dialects/Interfaces/ShardingRule.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// One search.
class Follower {
public:
  Follower(const VariableTable &table, int64_t parts, bool mayPad, bool anyEnd)
      : table(table), parts(parts), mayPad(mayPad), anyEnd(anyEnd) {}
  FailureOr<SplitPattern> run(BlockArgument argument, unsigned dim);

private:
  LogicalResult split(Value value, unsigned dim);
  LogicalResult visit(Operation *op, Value value, unsigned dim);
  LogicalResult spread(Operation *op, const ShardingRule &rule,
                       unsigned factor);

  const VariableTable &table;
  int64_t parts;
  /// Whether parts may be made equal by padding.
  bool mayPad;
  /// Whether ops that need the parts together are fine: they end the search.
  bool anyEnd;
  DenseMap<Value, unsigned> dims;
  llvm::DenseSet<std::pair<Operation *, unsigned>> visited;
  SmallVector<Value> work;
  SplitPattern pattern;
};
} // namespace

func::FuncOp mlir::dist::findEntry(ModuleOp module) {
  for (StringRef name : {"predict", "eval_step", "train_step", "gradients"})
    if (auto entry = module.lookupSymbol<func::FuncOp>(name))
      return entry;
  return {};
}

graph::VariableOp mlir::dist::findVariableOf(Value value,
                                             const VariableTable &table) {
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() != 1 || op->getNumResults() != 1)
      return {};
    value = op->getOperand(0);
  }
  return table.findOf(cast<BlockArgument>(value));
}

std::optional<unsigned> mlir::dist::getMajorFactor(const ShardingRule &rule,
                                                   const DimFactors &dim,
                                                   int64_t parts, bool mayPad) {
  for (unsigned factor : dim) {
    int64_t size = rule.factors[factor].size;
    if (size == 1)
      continue;
    // Padding would stand between the parts of a dim that is merged or cut.
    bool fits = size % parts == 0 ||
                (mayPad && dim.size() == 1 && isSplitWorthwhile(size, parts));
    return fits ? std::optional(factor) : std::nullopt;
  }
  return std::nullopt;
}

LogicalResult Follower::split(Value value, unsigned dim) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t size = type.getDimSize(dim);
  if (size % parts && !(mayPad && isSplitWorthwhile(size, parts)))
    return failure();
  // Users of a constant are no one layer: each takes its own part.
  Operation *definition = value.getDefiningOp();
  if (auto broadcast = dyn_cast_or_null<graph::BroadcastOp>(definition))
    definition = broadcast.getOperand().getDefiningOp();
  if (definition && definition->hasTrait<OpTrait::ConstantLike>())
    return success();
  auto [known, isNew] = dims.try_emplace(value, dim);
  if (!isNew)
    return success(known->second == dim);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    graph::VariableOp variable = table.findOf(argument);
    if (!variable)
      return failure(); // inputs stay whole
    pattern.variables.insert({variable, dim});
  }
  work.push_back(value);
  return success();
}

LogicalResult Follower::spread(Operation *op, const ShardingRule &rule,
                               unsigned factor) {
  auto visitTensor = [&](Value value, const TensorFactors &tensor) {
    for (unsigned dim = 0; dim < tensor.size(); ++dim)
      if (llvm::is_contained(tensor[dim], factor)) {
        // Parts of a minor factor are no part of the dim.
        if (getMajorFactor(rule, tensor[dim], parts, mayPad) != factor)
          return failure();
        return split(value, dim);
      }
    return success();
  };
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
    if (failed(visitTensor(value, tensor)))
      return failure();
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    if (failed(visitTensor(value, tensor)))
      return failure();
  return success();
}

LogicalResult Follower::visit(Operation *op, Value value, unsigned dim) {
  if (isa<func::ReturnOp>(op)) {
    pattern.reachesResult = true;
    return success();
  }
  auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
  if (!sharded)
    return failure();
  ShardingRule rule = sharded.getShardingRule();
  auto visitFactor = [&](const DimFactors &factors) -> LogicalResult {
    std::optional<unsigned> factor =
        getMajorFactor(rule, factors, parts, mayPad);
    if (!factor)
      return failure();
    if (!visited.insert({op, *factor}).second)
      return success();
    switch (rule.factors[*factor].kind) {
    case FactorKind::PassThrough:
      pattern.hasAttention |=
          op->getNumOperands() == 2 && rule.linear.size() > 1 &&
          llvm::any_of(rule.factors,
                       [](const Factor &one) {
                         return one.kind == FactorKind::Reduction;
                       }) &&
          !findVariableOf(op->getOperand(0), table) &&
          !findVariableOf(op->getOperand(1), table);
      break;
    case FactorKind::Reduction: {
      // A sum of activations alone (a norm's mean) would cost an all-reduce
      // that no layer asked for.
      bool hasVariable = op->getNumOperands() > 1 &&
                         llvm::any_of(op->getOperands(), [&](Value operand) {
                           return bool(findVariableOf(operand, table));
                         });
      if (!hasVariable || rule.factors[*factor].reduction != Reduction::Sum) {
        pattern.reachesResult |= anyEnd;
        return success(anyEnd);
      }
      ++pattern.rows;
      break;
    }
    case FactorKind::Permutation:
    case FactorKind::NeedReplication:
      pattern.reachesResult |= anyEnd;
      return success(anyEnd);
    }
    // Of pools and pads there are in other models, too.
    pattern.hasWindows |= sumsProducts(rule) && hasWindows(rule);
    return spread(op, rule, *factor);
  };
  for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands))
    if (operand == value && failed(visitFactor(tensor[dim])))
      return failure();
  for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results))
    if (result == value && failed(visitFactor(tensor[dim])))
      return failure();
  return success();
}

FailureOr<SplitPattern> Follower::run(BlockArgument argument, unsigned dim) {
  if (failed(split(argument, dim)))
    return failure();
  while (!work.empty()) {
    Value value = work.pop_back_val();
    unsigned at = dims.lookup(value);
    if (Operation *definition = value.getDefiningOp())
      if (failed(visit(definition, value, at)))
        return failure();
    for (Operation *user : value.getUsers())
      if (failed(visit(user, value, at)))
        return failure();
  }
  return pattern;
}

FailureOr<SplitPattern> mlir::dist::followSplit(BlockArgument argument,
                                                const VariableTable &table,
                                                unsigned dim, int64_t parts,
                                                bool mayPad, bool anyEnd) {
  return Follower(table, parts, mayPad, anyEnd).run(argument, dim);
}

static bool fits(const SplitPattern &pattern, StringRef preset) {
  if (preset == "vocab")
    return pattern.reachesResult && pattern.rows == 0;
  if (pattern.reachesResult || pattern.rows == 0)
    return false;
  if (preset == "conv")
    return pattern.hasWindows;
  if (preset == "mlp")
    return !pattern.hasWindows && !pattern.hasAttention;
  return preset == "auto" || !pattern.hasWindows;
}

/// Whether an op contracts: sums over a dim of several operands, or over the
/// taps of a filter.
static bool isContraction(Operation *op) {
  auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
  if (!sharded || op->getNumOperands() < 2)
    return false;
  ShardingRule rule = sharded.getShardingRule();
  return sumsProducts(rule) ||
         llvm::any_of(rule.factors, [](const Factor &factor) {
           return factor.kind == FactorKind::Reduction;
         });
}

/// Contractions with a variable, in order; `lastOnly`: of which no other one
/// computes with the result.
static SmallVector<Operation *>
findLayers(func::FuncOp entry, const VariableTable &table, bool lastOnly) {
  SmallVector<Operation *> layers;
  // Ops whose results another layer computes with.
  DenseSet<Operation *> inner;
  for (Operation &op : llvm::reverse(entry.front())) {
    bool isLayer =
        isContraction(&op) && llvm::any_of(op.getOperands(), [&](Value value) {
          return bool(findVariableOf(value, table));
        });
    bool isInner = inner.contains(&op);
    if (isLayer && !(lastOnly && isInner))
      layers.push_back(&op);
    if (lastOnly && (isLayer || isInner))
      for (Value operand : op.getOperands())
        if (Operation *definition = operand.getDefiningOp())
          inner.insert(definition);
  }
  std::reverse(layers.begin(), layers.end());
  return layers;
}

/// Whether a value depends on what is no variable.
static bool dependsOnInput(Value value, const VariableTable &table) {
  DenseSet<Value> seen;
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value one = work.pop_back_val();
    if (!seen.insert(one).second)
      continue;
    if (Operation *definition = one.getDefiningOp())
      llvm::append_range(work, definition->getOperands());
    else if (!table.findOf(cast<BlockArgument>(one)))
      return true;
  }
  return false;
}

/// The tables that inputs are looked up in along their rows. Positions and
/// segments have tables too, which are small: those with less than half the
/// rows of the largest are left whole.
static void findTables(func::FuncOp entry, const VariableTable &table,
                       int64_t parts, bool mayPad, PatternDims &found) {
  SmallVector<graph::VariableOp> tables;
  auto getRows = [](graph::VariableOp variable) {
    return cast<RankedTensorType>(variable.getType()).getDimSize(0);
  };
  int64_t most = 0;
  for (auto lookup : entry.getOps<graph::GatherOp>()) {
    graph::VariableOp variable = findVariableOf(lookup.getOperand(), table);
    if (!variable || lookup.getAxis() != 0 ||
        cast<RankedTensorType>(variable.getType()).getShape() !=
            lookup.getOperand().getType().getShape() ||
        !dependsOnInput(lookup.getIndices(), table))
      continue;
    tables.push_back(variable);
    most = std::max(most, getRows(variable));
  }
  for (graph::VariableOp variable : tables) {
    int64_t rows = getRows(variable);
    if (2 * rows >= most &&
        (rows % parts == 0 || (mayPad && isSplitWorthwhile(rows, parts))))
      found.insert({variable, 0u});
  }
}

/// What findSplits says, of patterns that `isWanted`.
static void
findPatterns(func::FuncOp entry, const VariableTable &table, int64_t parts,
             bool mayPad, bool isVocabulary,
             llvm::function_ref<bool(const SplitPattern &)> isWanted,
             PatternDims &found) {
  for (Operation *op : findLayers(entry, table, /*lastOnly=*/isVocabulary)) {
    ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
    // Of a weight's dims, those that are the result's.
    for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands)) {
      graph::VariableOp variable = findVariableOf(operand, table);
      if (!variable || tensor.size() < 2 || found.contains(variable))
        continue;
      BlockArgument argument = table.findArgument(entry, variable);
      auto type = cast<RankedTensorType>(argument.getType());
      for (int64_t dim = type.getRank(); dim-- > 0;) {
        auto pattern = followSplit(argument, table, dim, parts, mayPad,
                                   /*anyEnd=*/isVocabulary);
        // Column first: the row dim of a pair is found from its column's.
        if (failed(pattern) || !isWanted(*pattern) ||
            llvm::any_of(pattern->variables,
                         [&](auto &one) { return found.contains(one.first); }))
          continue;
        for (auto &one : pattern->variables)
          found.insert(one);
        break;
      }
    }
  }
}

void mlir::dist::findSplits(func::FuncOp entry, const VariableTable &table,
                            int64_t parts, bool mayPad, StringRef preset,
                            PatternDims &found) {
  bool isVocabulary = preset == "vocab";
  findPatterns(
      entry, table, parts, mayPad, isVocabulary,
      [&](const SplitPattern &pattern) { return fits(pattern, preset); },
      found);
  if (isVocabulary)
    findTables(entry, table, parts, mayPad, found);
}

void mlir::dist::findAttentionSplits(func::FuncOp entry,
                                     const VariableTable &table, int64_t parts,
                                     StringRef preset, PatternDims &found) {
  findPatterns(
      entry, table, parts, /*mayPad=*/false, /*isVocabulary=*/false,
      [&](const SplitPattern &pattern) {
        return pattern.hasAttention && fits(pattern, preset);
      },
      found);
}
