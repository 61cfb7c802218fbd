//===- PropagationState.cpp - What propagation knows of a value -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/PropagationState.h"

using namespace mlir;
using namespace mlir::dist;

PropagationState::PropagationState(RankedTensorType type, ShardingAttr sharding)
    : type(type) {
  dims.resize(type.getRank());
  open.assign(type.getRank(), true);
  if (!sharding)
    return;
  dims = getDimAxes(sharding);
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    open[dim] = sharding.isOpen(dim);
    if (int64_t priority = sharding.getPriority(dim)) {
      priorities.resize(type.getRank());
      priorities[dim] = priority;
    }
  }
  unreduced = AxisList(sharding.getUnreduced());
  replicated = AxisList(sharding.getReplicated());
}

bool PropagationState::extend(
    const AxisLists &wanted, MeshOp mesh, bool strict,
    llvm::function_ref<void(unsigned dim, StringAttr axis)> added) {
  bool changed = false;
  for (unsigned dim = 0; dim < wanted.size(); ++dim) {
    if (!open[dim] || wanted[dim].size() <= dims[dim].size() ||
        !isPrefix(dims[dim], wanted[dim]))
      continue;
    // Take axes one by one: as many as are free in this tensor and divide, or
    // are worth padding.
    for (StringAttr axis : ArrayRef(wanted[dim]).drop_front(dims[dim].size())) {
      bool used = llvm::is_contained(unreduced, axis) ||
                  llvm::is_contained(replicated, axis) ||
                  llvm::any_of(dims, [&](const AxisList &axes) {
                    return llvm::is_contained(axes, axis);
                  });
      AxisList longer = dims[dim];
      longer.push_back(axis);
      int64_t size = type.getDimSize(dim), parts = mesh.getGroupSize(longer);
      if (used || (strict && size % parts) || !isSplitWorthwhile(size, parts))
        break;
      // What a later round splits waits for that round again, if there is
      // another propagation.
      if (dims[dim].empty() && round > 0) {
        priorities.resize(type.getRank());
        priorities[dim] = round;
      }
      dims[dim] = longer;
      changed = true;
      added(dim, axis);
    }
  }
  return changed;
}

void PropagationState::hold(std::set<int64_t> &found) {
  for (unsigned dim = 0; dim < priorities.size(); ++dim) {
    if (priorities[dim] == 0)
      continue;
    found.insert(priorities[dim]);
    replicated.append(dims[dim]);
    held.push_back({dim, std::move(dims[dim]), bool(open[dim])});
    dims[dim].clear();
    open[dim] = false;
  }
}

void PropagationState::release(int64_t priority) {
  round = priority;
  for (Held &one : held) {
    if (priorities[one.dim] != priority)
      continue;
    llvm::erase_if(replicated, [&](StringAttr axis) {
      return llvm::is_contained(one.axes, axis);
    });
    dims[one.dim] = one.axes;
    open[one.dim] = one.open;
  }
}

ShardingAttr PropagationState::getSharding(FlatSymbolRefAttr meshName,
                                           bool close) const {
  MLIRContext *context = meshName.getContext();
  SmallVector<DimShardingAttr> attributes;
  for (unsigned dim = 0; dim < dims.size(); ++dim) {
    bool isOpen = open[dim] && !close;
    // What has nothing to spread has no priority.
    bool hasPriority =
        !close && !priorities.empty() && (isOpen || !dims[dim].empty());
    attributes.push_back(DimShardingAttr::get(
        context, dims[dim], isOpen, hasPriority ? priorities[dim] : 0));
  }
  return ShardingAttr::get(context, meshName, attributes, unreduced,
                           close ? ArrayRef<StringAttr>() : replicated);
}

LogicalResult mlir::dist::checkDivides(Operation *op, const Twine &what,
                                       Type type, ShardingAttr sharding,
                                       MeshOp mesh, bool strict) {
  auto tensor = cast<RankedTensorType>(type);
  for (int64_t dim = 0; dim < tensor.getRank(); ++dim) {
    int64_t size = tensor.getDimSize(dim);
    int64_t shards = getNumShards(sharding, dim, mesh);
    if (!isSplitAllowed(size, shards, strict))
      return op->emitOpError()
             << what << ": dim " << dim << " of " << type << " "
             << describeMisfit(size, shards, formatAxes(sharding.getAxes(dim)),
                               strict);
  }
  return success();
}

void OpsToVisit::add(Value value) {
  if (Operation *definition = value.getDefiningOp())
    settled.erase(definition);
  for (Operation *user : value.getUsers())
    settled.erase(user);
}

const ShardingRule &OpsToVisit::getRule(Operation *op) {
  auto [known, isNew] = rules.try_emplace(op);
  if (isNew)
    known->second = cast<ShardingRuleOpInterface>(op).getShardingRule();
  return known->second;
}
