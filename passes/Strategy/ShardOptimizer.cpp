//===- ShardOptimizer.cpp - ZeRO as annotations -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion
// Parameter Models" (2020). Where a gradient enters its update it is asked for
// in shards: the partitioner then reduce-scatters it, updates one shard a rank
// and gathers the new variable. Nothing here knows of collectives.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/IRMapping.h"
#include "passes/Strategy/Passes.h"
#include "passes/Strategy/UpdateSlice.h"

namespace mlir::dist {
#define GEN_PASS_DEF_SHARDOPTIMIZERPASS
#include "passes/Strategy/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct ShardOptimizerPass
    : mlir::dist::impl::ShardOptimizerPassBase<ShardOptimizerPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  ShardingAttr chooseSharding(graph::VariableOp variable);
  void shard(graph::VariableOp variable);
  void gatherForUse(func::FuncOp entry, graph::VariableOp variable,
                    const UpdateSlice &slice);
  Value reshard(OpBuilder &builder, Value value, ShardingAttr target,
                const Twine &reason, StringRef origin);

  MeshOp mesh;
  StringAttr axisName;
  std::optional<VariableTable> table;
};
} // namespace

/// The variable's sharding with the axis added to the first dim that divides:
/// the fewer dims before it, the longer the runs that collectives copy. Else to
/// the one with the least padding; null if half of each would be padding.
ShardingAttr ShardOptimizerPass::chooseSharding(graph::VariableOp variable) {
  ShardingAttr sharding = getVariableSharding(variable);
  auto type = cast<RankedTensorType>(variable.getType());
  int64_t ranks = mesh.getAxisSize(axisName), best = -1;
  double least = 0;
  for (int64_t dim = 0; dim < type.getRank() && (best < 0 || least > 1);
       ++dim) {
    int64_t size = type.getDimSize(dim);
    int64_t shards = getNumShards(sharding, dim, mesh);
    bool divides = size % (shards * ranks) == 0;
    // What one strategy splits evenly, another does not make uneven.
    if (size == 0 || (!divides && (strictDivisibility || shards > 1 ||
                                   !isSplitWorthwhile(size, ranks))))
      continue;
    double padded = double(getPaddedSize(size, shards * ranks)) / size;
    if (best < 0 || padded < least) {
      best = dim;
      least = padded;
    }
  }
  if (best < 0)
    return {};
  SmallVector<StringAttr> axes(sharding.getAxes(best));
  axes.push_back(axisName);
  return sharding.withUnreduced({}).withoutReplicated().withDim(best, axes);
}

Value ShardOptimizerPass::reshard(OpBuilder &builder, Value value,
                                  ShardingAttr target, const Twine &reason,
                                  StringRef origin) {
  auto op = ReshardOp::create(builder, value.getLoc(), value, target.closed(),
                              builder.getStringAttr(reason),
                              builder.getStringAttr(origin));
  setSharding(op.getResult(), op.getTarget());
  return op.getResult();
}

/// The variable is kept in shards: each op that computes with it gathers it
/// just before, so that nothing keeps it whole from the forward to the backward
/// pass.
void ShardOptimizerPass::gatherForUse(func::FuncOp entry,
                                      graph::VariableOp variable,
                                      const UpdateSlice &slice) {
  ShardingAttr target;
  {
    ShardingAttr sharding = getVariableSharding(variable);
    target = sharding;
    for (unsigned dim = 0; dim < sharding.getNumDims(); ++dim)
      if (llvm::is_contained(sharding.getAxes(dim), axisName)) {
        SmallVector<StringAttr> axes(sharding.getAxes(dim));
        llvm::erase(axes, axisName);
        target = target.withDim(dim, axes);
      }
  }
  std::string reason = "--strategy=zero:stage=3 keeps '" +
                       variable.getSymName().str() + "' split over '" +
                       axisName.str() + "' and gathers it just before use";
  if (BlockArgument argument = table->findArgument(entry, variable)) {
    // Through ops of the variable alone (transposes, converts) to those that
    // compute with it.
    SmallVector<std::pair<OpOperand *, SmallVector<Operation *>>> work;
    for (OpOperand &use : argument.getUses())
      work.push_back({&use, {}});
    while (!work.empty()) {
      auto [use, chain] = work.pop_back_val();
      Operation *user = use->getOwner();
      if (slice.contains(user) || isa<func::ReturnOp>(user))
        continue;
      if (user->getNumOperands() == 1 && user->getNumResults() == 1 &&
          isPure(user) && !user->getResult(0).use_empty()) {
        chain.push_back(user);
        for (OpOperand &next : user->getResult(0).getUses())
          work.push_back({&next, chain});
        continue;
      }
      OpBuilder builder(user);
      Value value =
          reshard(builder, argument, target, reason, getOriginName(user));
      for (Operation *op : chain) {
        IRMapping mapping;
        mapping.map(op->getOperand(0), value);
        value = builder.clone(*op, mapping)->getResult(0);
      }
      use->set(value);
    }
  }
}

void ShardOptimizerPass::shard(graph::VariableOp variable) {
  ShardingAttr sharding = chooseSharding(variable);
  if (!sharding)
    return;
  SmallVector<graph::VariableOp> state{variable}, sums;
  auto keep = [&](graph::VariableOp one) {
    table->setSharding(one, sharding);
    addReason(one, axisName,
              "--strategy=zero:stage=" + Twine(stage) +
                  " keeps it in shards along '" + axisName.getValue() + "'");
  };
  for (graph::VariableOp slot : table->getSlots(variable)) {
    if (slot.getType() != variable.getType())
      continue;
    if (slot.getGroup() == "accumulator") {
      // Its new value is a sum of gradients: from stage 2 on, of shards.
      if (stage >= 2) {
        keep(slot);
        slot.setSynchronization(graph::Synchronization::OnWrite);
        slot.setAggregation(graph::Aggregation::None);
      }
      sums.push_back(slot);
    } else {
      keep(slot);
      state.push_back(slot);
    }
  }
  if (stage >= 3)
    keep(variable);
  std::string reason = "--strategy=zero:stage=" + std::to_string(stage) +
                       " updates one shard of '" + variable.getSymName().str() +
                       "' on each rank along '" + axisName.str() + "'";
  for (auto entry : getOperation().getOps<func::FuncOp>()) {
    UpdateSlice update(entry, state, *table);
    Value gradient = update.getGradient();
    // Where gradients are only summed, their sum is the value wanted in shards.
    if (update.isEmpty() && stage >= 2 && !sums.empty())
      gradient = UpdateSlice(entry, sums, *table).getGradient();
    if (gradient) {
      OpBuilder builder(entry.getContext());
      builder.setInsertionPointAfterValue(gradient);
      std::string origin = getLocationName(gradient.getLoc());
      Value shards = reshard(builder, gradient, sharding, reason,
                             origin.empty() ? variable.getSymName() : origin);
      gradient.replaceAllUsesExcept(shards, shards.getDefiningOp());
    }
    if (stage >= 3)
      gatherForUse(entry, variable, update);
  }
}

void ShardOptimizerPass::runOnOperation() {
  ModuleOp module = getOperation();
  if (stage < 1 || stage > 3) {
    module.emitError() << "dist-shard-optimizer: expected stage 1, 2 or 3, but "
                          "got "
                       << stage.getValue();
    return signalPassFailure();
  }
  auto found = getMesh(module, "dist-shard-optimizer");
  if (failed(found))
    return signalPassFailure();
  mesh = *found;
  auto axes = getAxes(mesh, {axis}, "dist-shard-optimizer");
  if (failed(axes))
    return signalPassFailure();
  if (axes->size() > 1) {
    mesh.emitOpError() << "has axis '" << axis << "' in parts ('"
                       << formatAxes(*axes)
                       << "'), but zero shards over all of it; split over "
                          "parts of other axes";
    return signalPassFailure();
  }
  axisName = axes->front();
  if (!isAnnotated(module)) {
    addReason(mesh, axisName,
              "--strategy=zero splits the batch over '" + axisName.getValue() +
                  "'");
    if (failed(annotate(module, mesh, *axes)))
      return signalPassFailure();
  }
  table.emplace(module);
  for (auto variable : module.getOps<graph::VariableOp>()) {
    if (!variable.getTrainable())
      continue;
    if (!getVariableSharding(variable)) {
      variable.emitOpError()
          << "has no sharding that dist-shard-optimizer could cut, though "
             "others have; annotate all, or none";
      return signalPassFailure();
    }
    shard(variable);
  }
  table->update();
}
