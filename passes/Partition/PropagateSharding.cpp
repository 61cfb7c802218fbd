//===- PropagateSharding.cpp - Shardings from few values to all -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scheme is Shardy's basic propagation (openxla/shardy, docs/propagation.md):
// project to factors, merge there, project back. A fixpoint over a plain map is
// enough, since step functions are one block.
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/Cost.h"
#include "passes/Partition/FactorSharding.h"
#include "passes/Partition/Passes.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::dist {
#define GEN_PASS_DEF_PROPAGATESHARDINGPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {

/// What is known of a value so far.
struct State {
  AxisLists dims;
  SmallVector<bool> open;
  AxisList unreduced;
};

struct PropagateShardingPass
    : mlir::dist::impl::PropagateShardingPassBase<PropagateShardingPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  void copySharedScalarWork(Block &block);
  LogicalResult readShardings(func::FuncOp function);
  LogicalResult checkDivides(func::FuncOp function, Twine what, Type type,
                             ShardingAttr sharding);
  bool sweep(Block &block, bool resolveConflicts);
  bool visit(Operation *op, bool resolveConflicts);
  bool visitReturn(Operation *op);
  bool extend(Value value, const AxisLists &dims);
  void write(func::FuncOp function);

  DenseMap<Value, State> states;
  MeshOp mesh;
  FlatSymbolRefAttr meshName;
};

/// A merged view of one factor's axes.
struct Candidate {
  AxisList axes;
  int64_t bytes = 0;
};
} // namespace

/// Constants, and ops on nothing but such values or scalars: cheap, and often
/// shared by common-subexpression elimination between unrelated places.
static bool isScalarWork(Operation *op) {
  if (!isa<ShardingRuleOpInterface>(op) || !isPure(op))
    return false;
  return llvm::all_of(op->getOperands(), [](Value operand) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (type && type.getNumElements() == 1)
      return true;
    Operation *definition = operand.getDefiningOp();
    return definition && definition->getNumOperands() == 0 &&
           isa<ShardingRuleOpInterface>(definition);
  });
}

void PropagateShardingPass::copySharedScalarWork(Block &block) {
  // Backward, so that the copies of a broadcast then split its constant.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.getNumResults() != 1 || !isScalarWork(&op))
      continue;
    auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
    if (!type || type.getNumElements() == 1)
      continue;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op.getResult(0).getUses())
      uses.push_back(&use);
    OpBuilder builder(&op);
    builder.setInsertionPointAfter(&op);
    for (OpOperand *use : llvm::drop_begin(uses))
      use->set(builder.clone(op)->getResult(0));
  }
}

LogicalResult PropagateShardingPass::checkDivides(func::FuncOp function,
                                                  Twine what, Type type,
                                                  ShardingAttr sharding) {
  auto tensor = cast<RankedTensorType>(type);
  for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
    if (int64_t shards = getNumShards(sharding, dim, mesh);
        tensor.getDimSize(dim) % shards)
      return function.emitOpError()
             << what << ": dim " << dim << " of " << type
             << " cannot be split into " << shards << " equal parts over '"
             << formatAxes(sharding.getAxes(dim)) << "'";
  return success();
}

LogicalResult PropagateShardingPass::readShardings(func::FuncOp function) {
  auto set = [&](Value value) -> LogicalResult {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return success();
    State state;
    state.dims.resize(type.getRank());
    state.open.assign(type.getRank(), true);
    if (ShardingAttr sharding = findSharding(value)) {
      std::string what = "a value";
      if (auto argument = dyn_cast<BlockArgument>(value))
        what = ("argument " + Twine(argument.getArgNumber())).str();
      else
        what = ("the result of '" + value.getDefiningOp()->getName().getStringRef() +
                "'").str();
      if (failed(checkDivides(function, what, type, sharding)))
        return failure();
      state.dims = getDimAxes(sharding);
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        state.open[dim] = sharding.isOpen(dim);
      state.unreduced = AxisList(sharding.getUnreduced());
    }
    states[value] = std::move(state);
    return success();
  };
  Block &block = function.front();
  for (BlockArgument argument : block.getArguments())
    if (failed(set(argument)))
      return failure();
  for (Operation &op : block) {
    if (!isa<ShardingRuleOpInterface, ReshardOp, func::ReturnOp>(op))
      return op.emitOpError() << "cannot be partitioned: it has no sharding "
                                 "rule; compile it for one device";
    if (auto reshard = dyn_cast<ReshardOp>(op))
      setSharding(reshard.getResult(), reshard.getTarget());
    for (Value result : op.getResults())
      if (failed(set(result)))
        return failure();
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto sharding = function.getResultAttrOfType<ShardingAttr>(
            i, DistDialect::kSharding))
      if (failed(checkDivides(function, "result " + Twine(i),
                              function.getResultTypes()[i], sharding)))
        return failure();
  return success();
}

/// Gives `value` the axes of `dims` where they extend its own; true if so.
bool PropagateShardingPass::extend(Value value, const AxisLists &dims) {
  auto found = states.find(value);
  if (found == states.end())
    return false;
  State &state = found->second;
  bool changed = false;
  for (unsigned dim = 0; dim < dims.size(); ++dim) {
    if (!state.open[dim] || dims[dim].size() <= state.dims[dim].size() ||
        !isPrefix(state.dims[dim], dims[dim]))
      continue;
    // Take axes one by one: as many as are free in this tensor and divide.
    int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(dim);
    for (StringAttr axis :
         ArrayRef(dims[dim]).drop_front(state.dims[dim].size())) {
      bool used = llvm::is_contained(state.unreduced, axis) ||
                  llvm::any_of(state.dims, [&](const AxisList &axes) {
                    return llvm::is_contained(axes, axis);
                  });
      AxisList longer = state.dims[dim];
      longer.push_back(axis);
      if (used || size % mesh.getGroupSize(longer))
        break;
      state.dims[dim] = longer;
      changed = true;
    }
  }
  return changed;
}

bool PropagateShardingPass::visit(Operation *op, bool resolveConflicts) {
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  SmallVector<SmallVector<Candidate>> candidates(rule.factors.size());
  auto collect = [&](Value value, const TensorFactors &tensor) {
    auto found = states.find(value);
    if (found == states.end())
      return;
    AxisLists own(rule.factors.size());
    projectToFactors(found->second.dims, tensor, rule, mesh, own);
    for (unsigned factor = 0; factor < own.size(); ++factor)
      if (!own[factor].empty() && isSplittable(rule.factors[factor]))
        candidates[factor].push_back(
            {own[factor], getByteSize(value.getType())});
  };
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
    collect(value, tensor);
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    collect(value, tensor);

  AxisLists merged(rule.factors.size());
  for (unsigned factor = 0; factor < merged.size(); ++factor) {
    auto &list = candidates[factor];
    if (list.empty())
      continue;
    const Candidate *longest = &list.front(), *largest = &list.front();
    for (const Candidate &candidate : list) {
      if (candidate.axes.size() > longest->axes.size())
        longest = &candidate;
      if (candidate.bytes > largest->bytes)
        largest = &candidate;
    }
    bool agree = llvm::all_of(list, [&](const Candidate &candidate) {
      return isPrefix(candidate.axes, longest->axes);
    });
    if (agree) {
      merged[factor] = longest->axes;
    } else if (resolveConflicts) {
      merged[factor] = largest->axes;
    } else {
      // What all sources have in common.
      merged[factor] = list.front().axes;
      for (const Candidate &candidate : list)
        while (!isPrefix(merged[factor], candidate.axes))
          merged[factor].pop_back();
    }
  }

  bool changed = false;
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
    changed |= extend(value, projectToDims(tensor, merged, rule, mesh));
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    changed |= extend(value, projectToDims(tensor, merged, rule, mesh));
  return changed;
}

bool PropagateShardingPass::visitReturn(Operation *op) {
  bool changed = false;
  func::FuncOp function = getOperation();
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (auto sharding = function.getResultAttrOfType<ShardingAttr>(
            i, DistDialect::kSharding))
      changed |= extend(operand, getDimAxes(sharding));
  return changed;
}

bool PropagateShardingPass::sweep(Block &block, bool resolveConflicts) {
  bool changed = false;
  auto visitOne = [&](Operation &op) {
    if (isa<ShardingRuleOpInterface>(op))
      changed |= visit(&op, resolveConflicts);
    else if (isa<func::ReturnOp>(op))
      changed |= visitReturn(&op);
  };
  for (Operation &op : block)
    visitOne(op);
  for (Operation &op : llvm::reverse(block))
    visitOne(op);
  return changed;
}

void PropagateShardingPass::write(func::FuncOp function) {
  auto getSharding = [&](Value value) {
    const State &state = states[value];
    return ShardingAttr::get(meshName, state.dims, state.unreduced);
  };
  Block &block = function.front();
  for (BlockArgument argument : block.getArguments())
    if (states.count(argument))
      setSharding(argument, getSharding(argument));
  for (Operation &op : block)
    for (Value result : op.getResults())
      setSharding(result, getSharding(result));
  for (auto [i, operand] : llvm::enumerate(block.getTerminator()->getOperands())) {
    auto declared = function.getResultAttrOfType<ShardingAttr>(
        i, DistDialect::kSharding);
    function.setResultAttr(i, DistDialect::kSharding,
                           declared ? declared.closed()
                                    : getSharding(operand).withUnreduced({}));
  }
}

void PropagateShardingPass::runOnOperation() {
  func::FuncOp function = getOperation();
  states.clear();
  mesh = findMesh(function);
  if (!mesh || function.isExternal())
    return;
  meshName = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  copySharedScalarWork(function.front());
  if (failed(readShardings(function)))
    return signalPassFailure();
  for (bool resolveConflicts : {false, true})
    while (sweep(function.front(), resolveConflicts))
      ;
  write(function);
}
