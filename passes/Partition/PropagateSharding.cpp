//===- PropagateSharding.cpp - Shardings from few values to all -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scheme is Shardy's basic propagation (openxla/shardy,
// docs/propagation.md): project to factors, merge there, project back. A
// fixpoint over a plain map is enough, since step functions are one block. Here
// is how shardings spread; what is known of each value is in ShardingStates,
// and who has its way where tensors disagree in FactorConflicts.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/AxisParts.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Partition/FactorConflicts.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/ShardingStates.h"
#include "passes/Partition/SharedScalars.h"

namespace mlir::dist {
#define GEN_PASS_DEF_PROPAGATESHARDINGPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {

struct PropagateShardingPass
    : mlir::dist::impl::PropagateShardingPassBase<PropagateShardingPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  bool sweep(func::FuncOp function, OnConflict onConflict);
  bool visit(Operation *op, OnConflict onConflict);
  bool visitReturn(Operation *op);
  bool visitVariables(func::FuncOp function);
  void propagate(ArrayRef<func::FuncOp> functions);
  /// The first part of an axis that some op could use on its own.
  std::optional<std::string> findCut(func::FuncOp function);

  std::optional<ShardingStates> states;
  OpsToVisit visits;
  MeshOp mesh;
};
} // namespace

bool PropagateShardingPass::visit(Operation *op, OnConflict onConflict) {
  if (!visits.begin(op))
    return false;
  const ShardingRule &rule = visits.getRule(op);
  SmallVector<SmallVector<FactorSplit>> splits(rule.factors.size());
  auto collect = [&](Value value, const TensorFactors &tensor) {
    PropagationState *state = states->find(value);
    if (!state)
      return;
    AxisLists own(rule.factors.size());
    projectToFactors(state->dims, tensor, rule, mesh, own);
    for (unsigned factor = 0; factor < own.size(); ++factor)
      if (!own[factor].empty() && isSplittable(rule.factors[factor]))
        splits[factor].push_back(
            {own[factor], getByteSize(value.getType()), state});
  };
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
    collect(value, tensor);
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    collect(value, tensor);

  AxisLists merged;
  for (ArrayRef<FactorSplit> list : splits)
    merged.push_back(chooseSplit(list, onConflict));

  bool changed = false;
  auto spread = [&](Value value, const TensorFactors &tensor, int32_t result) {
    PropagationState *state = states->find(value);
    if (!state)
      return;
    bool extended = states->extend(
        *state, projectToDims(tensor, merged, rule, mesh),
        // Of an operand, the number is that of its own op's result.
        op, result, [&] { return describeValue(value); },
        [&](unsigned dim, StringAttr axis) -> int32_t {
          for (unsigned factor : tensor[dim])
            for (const FactorSplit &split : splits[factor])
              if (split.state != state && llvm::is_contained(split.axes, axis))
                return states->findRow(*split.state, axis);
          return -1;
        });
    if (extended)
      visits.add(value);
    changed |= extended;
  };
  auto getNumber = [](Value value) {
    auto result = dyn_cast<OpResult>(value);
    return result ? int32_t(result.getResultNumber()) : 0;
  };
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
    spread(value, tensor, getNumber(value));
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    spread(value, tensor, getNumber(value));
  return changed;
}

bool PropagateShardingPass::visitReturn(Operation *op) {
  bool changed = false;
  func::FuncOp function = op->getParentOfType<func::FuncOp>();
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    PropagationState *declared = states->findResult(function, i);
    PropagationState *state = states->find(operand);
    if (!declared || !state)
      continue;
    auto result = dyn_cast<OpResult>(operand);
    if (states->extend(
            *state, declared->dims, op, result ? result.getResultNumber() : 0,
            [&, operand = operand] { return describeValue(operand); },
            [&](unsigned, StringAttr axis) {
              return states->findRow(*declared, axis);
            })) {
      visits.add(operand);
      changed = true;
    }
    changed |= states->extend(
        *declared, state->dims, op, 0,
        [&, i = i] { return describeResult(function, i); },
        [&](unsigned, StringAttr axis) {
          return states->findRow(*state, axis);
        });
  }
  return changed;
}

bool PropagateShardingPass::visitVariables(func::FuncOp function) {
  bool changed = false;
  for (BlockArgument argument : function.front().getArguments()) {
    PropagationState *variable =
        states->findVariable(function.getArgAttrDict(argument.getArgNumber()));
    PropagationState *state = states->find(argument);
    if (!variable || !state)
      continue;
    if (states->extendByVariable(*state, *variable)) {
      visits.add(argument);
      changed = true;
    }
    changed |= states->extendByVariable(*variable, *state);
  }
  return changed;
}

bool PropagateShardingPass::sweep(func::FuncOp function,
                                  OnConflict onConflict) {
  bool changed = visitVariables(function);
  auto visitOne = [&](Operation &op) {
    if (isa<ShardingRuleOpInterface>(op))
      changed |= visit(&op, onConflict);
    else if (isa<func::ReturnOp>(op)) {
      // What is assigned and what is read must not choose apart from each
      // other: a variable has one layout.
      changed |= visitVariables(function);
      changed |= visitReturn(&op);
      changed |= visitVariables(function);
    }
  };
  for (Operation &op : function.front())
    visitOne(op);
  for (Operation &op : llvm::reverse(function.front()))
    visitOne(op);
  return changed;
}

/// One round a priority, lowest number first: what it spreads is there when
/// the next begins.
void PropagateShardingPass::propagate(ArrayRef<func::FuncOp> functions) {
  std::set<int64_t> priorities = {0};
  states->forAll([&](PropagationState &state) { state.hold(priorities); });
  for (int64_t priority : priorities) {
    if (priority > 0)
      states->forAll([&](PropagationState &state) { state.release(priority); });
    for (OnConflict onConflict :
         {OnConflict::KeepCommon, OnConflict::TakeLargest}) {
      visits.addAll();
      bool changed = true;
      while (changed) {
        changed = false;
        for (func::FuncOp function : functions)
          while (sweep(function, onConflict))
            changed = true;
      }
    }
  }
}

std::optional<std::string>
PropagateShardingPass::findCut(func::FuncOp function) {
  auto mayCut = [&](StringAttr axis) {
    return llvm::is_contained(cutAxes, getWholeAxis(axis));
  };
  for (Operation &op : function.front()) {
    if (!isa<ShardingRuleOpInterface>(op))
      continue;
    ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
    auto find =
        [&](ValueRange values,
            ArrayRef<TensorFactors> tensors) -> std::optional<std::string> {
      for (auto [value, tensor] : llvm::zip(values, tensors))
        if (PropagationState *state = states->find(value))
          if (auto cut = findPartToCut(state->dims, tensor, rule, mesh, mayCut))
            return cut;
      return std::nullopt;
    };
    if (auto cut = find(op.getOperands(), rule.operands))
      return cut;
    if (auto cut = find(op.getResults(), rule.results))
      return cut;
  }
  return std::nullopt;
}

void PropagateShardingPass::runOnOperation() {
  mesh = findMesh(getOperation());
  if (!mesh)
    return;
  SmallVector<func::FuncOp> functions;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    copySharedScalarWork(function.front());
    functions.push_back(function);
  }
  // The function that does most decides of variables first.
  SmallVector<func::FuncOp> bySize(functions);
  llvm::stable_sort(bySize, [](func::FuncOp a, func::FuncOp b) {
    return a.front().getOperations().size() > b.front().getOperations().size();
  });
  visits = OpsToVisit();
  states.emplace(getOperation(), mesh,
                 PropagationOptions{strictDivisibility, close, sources});
  for (bool done = false; !done;) {
    if (failed(states->read(functions)))
      return signalPassFailure();
    propagate(bySize);
    // Over a finer mesh all starts anew: there are few cuts, and each is of a
    // whole factor.
    std::optional<std::string> cut;
    for (func::FuncOp function : functions)
      if (!cut && !cutAxes.empty())
        cut = findCut(function);
    done = !cut;
    if (cut && failed(refineMesh(getOperation(), {*cut},
                                 [&] { return mesh.emitOpError(); })))
      return signalPassFailure();
  }
  states->write(functions);
}
