//===- ReshardPlan.cpp - Which collectives change a layout -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/ReshardPlan.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Partition/ReshardSearch.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

double mlir::dist::getLinkCost(MeshOp mesh, ArrayRef<StringAttr> axes) {
  double cost = 0;
  auto costs = mesh->getAttrOfType<DictionaryAttr>(kLinkCosts);
  for (StringAttr axis : axes) {
    auto given = costs ? costs.getAs<FloatAttr>(axis) : FloatAttr();
    cost = std::max(cost, given ? given.getValueAsDouble() : 1.0);
  }
  return cost;
}

LogicalResult mlir::dist::verifyLinkCosts(MeshOp mesh) {
  Attribute attribute = mesh->getAttr(kLinkCosts);
  if (!attribute)
    return success();
  auto costs = dyn_cast<DictionaryAttr>(attribute);
  if (!costs)
    return mesh.emitOpError()
           << "expected '" << kLinkCosts
           << "' to be a dictionary of axes, but got " << attribute;
  for (NamedAttribute entry : costs) {
    if (mesh.getAxisSize(entry.getName()) == 0)
      return mesh.emitOpError()
             << "has a link cost for '" << entry.getName().getValue()
             << "', which is none of its axes";
    auto cost = dyn_cast<FloatAttr>(entry.getValue());
    if (!cost || !(cost.getValueAsDouble() > 0))
      return mesh.emitOpError()
             << "expected the link cost of '" << entry.getName().getValue()
             << "' to be a positive float, but got " << entry.getValue();
  }
  return success();
}

int64_t mlir::dist::getShardBytes(RankedTensorType global, const Layout &layout,
                                  MeshOp mesh) {
  int64_t bytes = getByteSize(global);
  for (const AxisList &axes : layout.dims)
    bytes /= mesh.getGroupSize(axes);
  return bytes;
}

double mlir::dist::getStepCost(ReshardStep::Kind kind,
                               ArrayRef<StringAttr> axes, int64_t shardBytes,
                               MeshOp mesh) {
  double ranks = mesh.getGroupSize(axes), bytes = shardBytes;
  double sent = 0;
  switch (kind) {
  case ReshardStep::Kind::Slice:
  case ReshardStep::Kind::Divide:
    return 0;
  case ReshardStep::Kind::Permute:
    sent = bytes;
    break;
  case ReshardStep::Kind::AllToAll:
  case ReshardStep::Kind::ReduceScatter:
    sent = bytes * (ranks - 1) / ranks;
    break;
  case ReshardStep::Kind::AllGather:
    sent = bytes * (ranks - 1);
    break;
  case ReshardStep::Kind::AllReduce:
    sent = 2 * bytes * (ranks - 1) / ranks;
    break;
  }
  return sent * getLinkCost(mesh, axes);
}

double mlir::dist::getStepOverhead(ReshardStep::Kind kind) {
  // A local step costs next to nothing, but of equal plans the one without it
  // is better.
  return kind == ReshardStep::Kind::Slice || kind == ReshardStep::Kind::Divide
             ? 1
             : kStepCost;
}

Layout mlir::dist::getLayout(ShardingAttr sharding, MeshOp mesh) {
  auto split = [&](StringAttr axis) { return mesh.getAxisSize(axis) > 1; };
  Layout layout;
  for (DimShardingAttr dim : sharding.getDims())
    llvm::copy_if(dim.getAxes(), std::back_inserter(layout.dims.emplace_back()),
                  split);
  for (auto axis : mesh.getAxisNames().getAsRange<StringAttr>())
    if (sharding.isUnreducedOver(axis) && split(axis))
      layout.unreduced.push_back(axis);
  return layout;
}

//===----------------------------------------------------------------------===//
// Permutations
//===----------------------------------------------------------------------===//

SmallVector<int64_t> mlir::dist::findPermutation(const Layout &from,
                                                 const Layout &to, MeshOp mesh,
                                                 AxisList &axes) {
  axes.clear();
  // What both have at the start and the end of a dim's list stays as it is.
  AxisLists before, after;
  for (auto [old, wanted] : llvm::zip(from.dims, to.dims)) {
    ArrayRef<StringAttr> a = old, b = wanted;
    while (!a.empty() && !b.empty() && a.front() == b.front())
      a = a.drop_front(), b = b.drop_front();
    while (!a.empty() && !b.empty() && a.back() == b.back())
      a = a.drop_back(), b = b.drop_back();
    if (mesh.getGroupSize(a) != mesh.getGroupSize(b))
      return {};
    before.emplace_back(a);
    after.emplace_back(b);
  }
  auto moves = [&](StringAttr axis) {
    auto has = [&](const AxisList &list) {
      return llvm::is_contained(list, axis);
    };
    return llvm::any_of(before, has) || llvm::any_of(after, has);
  };
  for (auto axis : mesh.getAxisNames().getAsRange<StringAttr>())
    if (moves(axis))
      axes.push_back(axis);
  if (axes.empty() || from.unreduced != to.unreduced ||
      llvm::any_of(axes, [&](StringAttr axis) {
        return llvm::is_contained(from.unreduced, axis);
      }))
    return {};

  // The shard that each rank of the first group has and wants.
  SmallVector<int64_t> group = getGroups(mesh, axes).front();
  auto number = [&](int64_t rank, const AxisLists &lists) {
    int64_t shard = 0;
    for (const AxisList &list : lists)
      shard = shard * mesh.getGroupSize(list) +
              getPositionInGroup(mesh, rank, list);
    return shard;
  };
  SmallVector<int64_t> has, wants;
  for (int64_t rank : group) {
    has.push_back(number(rank, before));
    wants.push_back(number(rank, after));
  }
  SmallVector<int64_t> sources(group.size(), -1);
  SmallVector<bool> taken(group.size(), false);
  for (size_t i = 0; i < group.size(); ++i)
    if (has[i] == wants[i]) {
      sources[i] = i;
      taken[i] = true;
    }
  for (size_t i = 0; i < group.size(); ++i)
    for (size_t j = 0; j < group.size() && sources[i] < 0; ++j)
      if (!taken[j] && has[j] == wants[i]) {
        sources[i] = j;
        taken[j] = true;
      }
  return sources;
}

//===----------------------------------------------------------------------===//
// The greedy plan
//===----------------------------------------------------------------------===//

namespace {
class GreedyPlanner {
public:
  GreedyPlanner(RankedTensorType global, const Layout &from, const Layout &to,
                MeshOp mesh)
      : global(global), current(from), target(to), mesh(mesh) {}

  ReshardPlan run() {
    while (reduce() || cut() || exchange() || gather())
      ;
    divide();
    return std::move(plan);
  }

private:
  bool reduce();
  bool cut();
  bool exchange();
  bool gather();
  void divide();

  bool isUsed(StringAttr axis) const {
    return llvm::any_of(current.dims, [&](const AxisList &axes) {
      return llvm::is_contained(axes, axis);
    });
  }
  /// The next axes that dim `dim` lacks; none if it has some that must go.
  ArrayRef<StringAttr> getMissing(unsigned dim) const {
    if (!isPrefix(current.dims[dim], target.dims[dim]))
      return {};
    return ArrayRef(target.dims[dim]).drop_front(current.dims[dim].size());
  }
  void add(ReshardStep::Kind kind, ArrayRef<StringAttr> axes, unsigned dim,
           unsigned concatDim, Layout after) {
    ReshardStep step{kind, AxisList(axes), dim, concatDim, {}, after};
    step.cost =
        getStepCost(kind, axes, getShardBytes(global, current, mesh), mesh);
    plan.cost += step.cost + getStepOverhead(kind);
    plan.steps.push_back(std::move(step));
    current = std::move(after);
  }

  RankedTensorType global;
  Layout current;
  const Layout &target;
  MeshOp mesh;
  ReshardPlan plan;
};
} // namespace

bool GreedyPlanner::reduce() {
  for (StringAttr axis : current.unreduced) {
    if (llvm::is_contained(target.unreduced, axis))
      continue;
    Layout after = current;
    llvm::erase(after.unreduced, axis);
    for (unsigned dim = 0; dim < target.dims.size(); ++dim) {
      ArrayRef<StringAttr> missing = getMissing(dim);
      if (missing.empty() || missing.front() != axis)
        continue;
      after.dims[dim].push_back(axis);
      add(ReshardStep::Kind::ReduceScatter, {axis}, dim, 0, after);
      return true;
    }
    add(ReshardStep::Kind::AllReduce, {axis}, 0, 0, after);
    return true;
  }
  return false;
}

bool GreedyPlanner::cut() {
  for (unsigned dim = 0; dim < target.dims.size(); ++dim) {
    AxisList axes;
    for (StringAttr axis : getMissing(dim)) {
      if (isUsed(axis))
        break;
      axes.push_back(axis);
    }
    if (axes.empty())
      continue;
    Layout after = current;
    llvm::append_range(after.dims[dim], axes);
    add(ReshardStep::Kind::Slice, axes, dim, 0, after);
    return true;
  }
  return false;
}

bool GreedyPlanner::exchange() {
  for (unsigned to = 0; to < target.dims.size(); ++to) {
    ArrayRef<StringAttr> missing = getMissing(to);
    if (missing.empty())
      continue;
    StringAttr axis = missing.front();
    for (unsigned from = 0; from < current.dims.size(); ++from) {
      if (from == to || current.dims[from].empty() ||
          current.dims[from].back() != axis)
        continue;
      Layout after = current;
      after.dims[from].pop_back();
      after.dims[to].push_back(axis);
      add(ReshardStep::Kind::AllToAll, {axis}, to, from, after);
      return true;
    }
  }
  return false;
}

bool GreedyPlanner::gather() {
  for (unsigned dim = 0; dim < target.dims.size(); ++dim) {
    if (isPrefix(current.dims[dim], target.dims[dim]))
      continue;
    Layout after = current;
    AxisList &axes = after.dims[dim];
    unsigned keep = 0;
    while (keep < target.dims[dim].size() && keep < axes.size() &&
           axes[keep] == target.dims[dim][keep])
      ++keep;
    axes.resize(keep);
    add(ReshardStep::Kind::AllGather,
        ArrayRef(current.dims[dim]).drop_front(keep), dim, 0, after);
    return true;
  }
  return false;
}

void GreedyPlanner::divide() {
  AxisList missing;
  for (StringAttr axis : target.unreduced)
    if (!llvm::is_contained(current.unreduced, axis))
      missing.push_back(axis);
  if (missing.empty())
    return;
  Layout after = current;
  after.unreduced = target.unreduced;
  add(ReshardStep::Kind::Divide, missing, 0, 0, after);
}

ReshardPlan mlir::dist::planReshardGreedily(RankedTensorType global,
                                            const Layout &from,
                                            const Layout &to, MeshOp mesh) {
  return GreedyPlanner(global, from, to, mesh).run();
}

ReshardPlan mlir::dist::planReshard(RankedTensorType global, const Layout &from,
                                    const Layout &to, MeshOp mesh) {
  ReshardPlan greedy = planReshardGreedily(global, from, to, mesh);
  if (greedy.steps.empty())
    return greedy;
  if (auto found = searchReshard(global, from, to, mesh, greedy.cost))
    return *found;
  return greedy;
}
