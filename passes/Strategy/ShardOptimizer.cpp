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
#include "dialects/Interfaces/Cost.h"
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
  void keepNearGathers(func::FuncOp entry);
  Value reshard(OpBuilder &builder, Value value, ShardingAttr target,
                const Twine &reason, StringRef origin);

  MeshOp mesh;
  StringAttr axisName;
  std::optional<VariableTable> table;
  /// Stage 3's, of all entries.
  SmallVector<ReshardOp> gathers;
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
/// just before (but see keepNearGathers), so that nothing keeps it whole from
/// the forward to the backward pass.
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
      gathers.push_back(value.getDefiningOp<ReshardOp>());
      for (Operation *op : chain) {
        IRMapping mapping;
        mapping.map(op->getOperand(0), value);
        value = builder.clone(*op, mapping)->getResult(0);
      }
      use->set(value);
    }
  }
}

/// A variable whose next use is so near that others of no more than half its
/// size are gathered in between (the last layer's weight, which the backward
/// pass begins with) is kept whole until then: to gather it again would cost
/// its bytes, and save memory for next to nothing.
void ShardOptimizerPass::keepNearGathers(func::FuncOp entry) {
  struct Gather {
    ReshardOp op;
    int64_t bytes;
    bool kept = false; // takes what an earlier one gathered
  };
  // An entry takes its own out of the list: some of them are erased here, and
  // the next entry must not look at those.
  SmallVector<Gather> order;
  llvm::erase_if(gathers, [&](ReshardOp op) {
    if (op->getBlock() != &entry.front())
      return false;
    order.push_back({op, getByteSize(op.getType())});
    return true;
  });
  llvm::sort(order, [](const Gather &a, const Gather &b) {
    return ReshardOp(a.op)->isBeforeInBlock(b.op);
  });
  // Pairs of the same variable; those inside of others first, so that what they
  // leave out counts no more.
  SmallVector<std::pair<size_t, size_t>> pairs;
  DenseMap<Value, size_t> last;
  for (auto [i, gather] : llvm::enumerate(order)) {
    auto [found, isFirst] = last.try_emplace(gather.op.getOperand(), i);
    if (!isFirst)
      pairs.push_back({found->second, i});
    found->second = i;
  }
  llvm::stable_sort(pairs, [](auto a, auto b) {
    return a.second - a.first < b.second - b.first;
  });
  for (auto [first, second] : pairs) {
    int64_t between = 0;
    for (size_t i = first + 1; i < second; ++i)
      between += order[i].kept ? 0 : order[i].bytes;
    order[second].kept = 2 * between <= order[second].bytes;
  }
  DenseMap<Value, Value> whole;
  for (const Gather &gather : order) {
    ReshardOp op = gather.op;
    Value &value = whole[op.getOperand()];
    if (!gather.kept) {
      value = op.getResult();
      continue;
    }
    op.getResult().replaceAllUsesWith(value);
    op.erase();
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
  for (auto function : module.getOps<func::FuncOp>())
    if (function.getBody().getBlocks().size() > 1) {
      function.emitOpError()
          << "dist-shard-optimizer: expected one block, but got "
          << function.getBody().getBlocks().size();
      return signalPassFailure();
    }
  gathers.clear();
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
  for (auto entry : module.getOps<func::FuncOp>())
    if (!entry.isExternal())
      keepNearGathers(entry);
  table->update();
}
