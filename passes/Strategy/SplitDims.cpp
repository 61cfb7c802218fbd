//===- SplitDims.cpp - Ops that take split dims in parts -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Strategy/SplitDims.h"
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Graph/IR/GraphRows.h"
#include "dialects/Interfaces/ShardingRule.h"

using namespace mlir;
using namespace mlir::dist;
using graph::GraphBuilder;

namespace {
/// Rewrites one function.
class Rewriter {
public:
  Rewriter(func::FuncOp function, const VariableTable &table,
           const SplitDims &splits);
  LogicalResult run();

private:
  bool isSplit(Value value, unsigned dim) const {
    auto found = dims.find(value);
    return found != dims.end() && llvm::is_contained(found->second, dim);
  }
  void split(Value value, unsigned dim) {
    if (!isSplit(value, dim))
      dims[value].push_back(dim);
  }
  void follow(Operation *op);
  Operation *rewriteLookup(graph::GatherOp op);
  Operation *rewriteGradient(graph::ScatterAddOp op);
  /// Whether the op needs whole a split dim that it could take in parts.
  bool joinsParts(Operation *op) const;
  FailureOr<Operation *> decompose(Operation *op);

  func::FuncOp function;
  DenseMap<Value, SmallVector<unsigned, 2>> dims;
  /// Indices of lookups that were rewritten, with the tables' shapes; and the
  /// numbers of the rows.
  DenseMap<Value, SmallVector<std::pair<ArrayRef<int64_t>, Value>, 1>> lookups;
  /// Maxima and sums over split classes.
  SmallVector<Value> statistics;
};
} // namespace

Rewriter::Rewriter(func::FuncOp function, const VariableTable &table,
                   const SplitDims &splits)
    : function(function) {
  for (auto &[variable, own] : splits)
    if (BlockArgument argument = table.findArgument(function, variable))
      for (unsigned dim : own)
        split(argument, dim);
}

/// The factor whose parts are parts of the dim; none of a dim of one element.
static std::optional<unsigned> getMajorFactor(const ShardingRule &rule,
                                              const DimFactors &dim) {
  for (unsigned factor : dim)
    if (rule.factors[factor].size > 1)
      return factor;
  return std::nullopt;
}

/// Marks the dims of the op's results that its operands' split dims become.
void Rewriter::follow(Operation *op) {
  auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
  if (!sharded || llvm::none_of(op->getOperands(), [&](Value operand) {
        return dims.contains(operand);
      }))
    return;
  ShardingRule rule = sharded.getShardingRule();
  for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands))
    // A copy: marks are added below.
    for (unsigned dim : SmallVector<unsigned, 2>(dims.lookup(operand))) {
      std::optional<unsigned> factor = getMajorFactor(rule, tensor[dim]);
      if (!factor || rule.factors[*factor].kind != FactorKind::PassThrough)
        continue;
      for (auto [result, own] : llvm::zip(op->getResults(), rule.results))
        for (unsigned to = 0; to < own.size(); ++to)
          if (getMajorFactor(rule, own[to]) == factor)
            split(result, to);
    }
}

/// What the new op keeps: its number, and what earlier strategies said.
static Operation *replace(Operation *op, Operation *made) {
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->replaceAllUsesWith(made);
  op->erase();
  return made;
}

Operation *Rewriter::rewriteLookup(graph::GatherOp op) {
  OpBuilder builder(op);
  GraphBuilder g(builder, op.getLoc());
  auto type = op.getOperand().getType();
  int64_t rows = type.getDimSize(0);
  Value indices = op.getIndices(), table = op.getOperand();
  Value numbers =
      g.iota(RankedTensorType::get({rows}, builder.getI32Type()), 0);
  lookups[indices].push_back({type.getShape(), numbers});
  return replace(op,
                 g.create<graph::GatherRowsOp>(table, indices, numbers, rows));
}

Operation *Rewriter::rewriteGradient(graph::ScatterAddOp op) {
  auto found = lookups.find(op.getIndices());
  if (found == lookups.end() || op.getAxis() != 0)
    return op;
  for (auto [shape, numbers] : found->second) {
    if (op.getType().getShape() != shape)
      continue;
    OpBuilder builder(op);
    GraphBuilder g(builder, op.getLoc());
    return replace(op, g.create<graph::ScatterAddRowsOp>(
                           op.getOperand(), op.getIndices(), op.getUpdates(),
                           numbers, shape[0]));
  }
  return op;
}

/// Whether two values are the same by the ops that give them, some steps back.
static bool computesSame(Value a, Value b, unsigned steps = 6) {
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  return a == b ||
         (x && y && steps > 0 && a.getType() == b.getType() &&
          x->getName() == y->getName() && x->getNumResults() == 1 &&
          x->getPropertiesAsAttribute() == y->getPropertiesAsAttribute() &&
          llvm::equal(x->getOperands(), y->getOperands(),
                      [&](Value from, Value other) {
                        return computesSame(from, other, steps - 1);
                      }));
}

bool Rewriter::joinsParts(Operation *op) const {
  auto composite = dyn_cast<DecomposableOpInterface>(op);
  if (!composite)
    return false;
  std::optional<unsigned> dim = composite.getDimTakenInParts();
  return dim && isSplit(op->getOperand(0), *dim);
}

FailureOr<Operation *> Rewriter::decompose(Operation *op) {
  OpBuilder builder(op);
  Operation *before = op->getPrevNode();
  SmallVector<Value> made;
  if (failed(cast<DecomposableOpInterface>(op).decompose(builder, made)))
    return op->emitOpError() << "cannot be decomposed at these types";
  // A loss and the softmax of its gradient have their statistics in common:
  // what is reduced over the ranks is reduced once.
  auto first =
      before ? std::next(before->getIterator()) : function.front().begin();
  for (Operation &one :
       llvm::make_early_inc_range(llvm::make_range(first, op->getIterator()))) {
    auto statistic = dyn_cast<graph::ReduceOp>(one);
    if (!statistic)
      continue;
    auto *same = llvm::find_if(statistics, [&](Value known) {
      return computesSame(known, statistic.getResult());
    });
    if (same == statistics.end()) {
      statistics.push_back(statistic.getResult());
      continue;
    }
    statistic.getResult().replaceAllUsesWith(*same);
    statistic.erase();
  }
  return replace(op, made.front().getDefiningOp());
}

LogicalResult Rewriter::run() {
  if (dims.empty())
    return success();
  for (Operation &one : llvm::make_early_inc_range(function.front())) {
    Operation *op = &one;
    if (auto lookup = dyn_cast<graph::GatherOp>(op)) {
      if (lookup.getAxis() == 0 && isSplit(lookup.getOperand(), 0))
        op = rewriteLookup(lookup);
    } else if (auto gradient = dyn_cast<graph::ScatterAddOp>(op)) {
      op = rewriteGradient(gradient);
    } else if (joinsParts(op)) {
      SmallVector<unsigned, 2> before = dims.lookup(op->getOperand(0));
      auto made = decompose(op);
      if (failed(made))
        return failure();
      // The parts of a softmax are parts of its operand; a loss has none.
      Value result = (*made)->getResult(0);
      for (unsigned dim : before)
        if (dim < unsigned(cast<RankedTensorType>(result.getType()).getRank()))
          split(result, dim);
      continue;
    }
    follow(op);
  }
  return success();
}

LogicalResult mlir::dist::takeInParts(ModuleOp module,
                                      const VariableTable &table,
                                      const SplitDims &splits) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() &&
        failed(Rewriter(function, table, splits).run()))
      return failure();
  return success();
}
