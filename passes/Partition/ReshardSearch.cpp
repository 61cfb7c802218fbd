//===- ReshardSearch.cpp - Shortest path between two layouts -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dijkstra over layouts. The axes that the two layouts mention are few, so that
// all orders of them are a small graph; the greedy plan's cost bounds it.
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/ReshardSearch.h"
#include "llvm/ADT/StringMap.h"
#include <queue>

using namespace mlir;
using namespace mlir::dist;

namespace {
using Kind = ReshardStep::Kind;

/// More axes than this, or more layouts, are left to the greedy plan.
constexpr unsigned kMaxAxes = 4;
constexpr unsigned kMaxLayouts = 20000;

class Search {
public:
  Search(RankedTensorType global, const Layout &from, const Layout &to,
         MeshOp mesh, double bound)
      : global(global), from(from), to(to), mesh(mesh), bound(bound) {}

  std::optional<ReshardPlan> run();

private:
  /// A layout that was reached, by which step and from which other.
  struct Node {
    Layout layout;
    ReshardStep step;
    int previous = -1;
    double cost = 0;
    bool done = false;
  };

  void findParticipants();
  void expand(int number);
  void cut(int number);
  void gather(int number);
  void exchange(int number);
  void reduce(int number);
  void permute(int number);
  void divide(int number);
  void reach(int number, Kind kind, ArrayRef<StringAttr> axes, unsigned dim,
             unsigned concatDim, Layout after, ArrayRef<int64_t> sources = {});
  std::string encode(const Layout &layout) const;
  /// Axes that neither split a dim nor number partial sums.
  AxisList getFree(const Layout &layout) const;
  bool divides(const Layout &layout, unsigned dim) {
    return global.getDimSize(dim) % mesh.getGroupSize(layout.dims[dim]) == 0;
  }
  /// All ordered selections of `axes` that are not empty.
  static void forEachOrder(ArrayRef<StringAttr> axes,
                           function_ref<void(ArrayRef<StringAttr>)> visit);

  RankedTensorType global;
  const Layout &from, &to;
  MeshOp mesh;
  double bound;
  AxisList axes;
  SmallVector<unsigned> dims;
  std::vector<Node> nodes;
  llvm::StringMap<int> known;
  /// Cheapest first; of equals the one found first.
  std::priority_queue<std::pair<double, int>,
                      std::vector<std::pair<double, int>>,
                      std::greater<std::pair<double, int>>>
      queue;
};
} // namespace

void Search::forEachOrder(ArrayRef<StringAttr> axes,
                          function_ref<void(ArrayRef<StringAttr>)> visit) {
  AxisList chosen;
  auto choose = [&](auto &&self) -> void {
    if (!chosen.empty())
      visit(chosen);
    for (StringAttr axis : axes) {
      if (llvm::is_contained(chosen, axis))
        continue;
      chosen.push_back(axis);
      self(self);
      chosen.pop_back();
    }
  };
  choose(choose);
}

void Search::findParticipants() {
  auto mentions = [](const Layout &layout, StringAttr axis) {
    return llvm::is_contained(layout.unreduced, axis) ||
           llvm::any_of(layout.dims, [&](const AxisList &list) {
             return llvm::is_contained(list, axis);
           });
  };
  for (auto axis : mesh.getAxisNames().getAsRange<StringAttr>())
    if (mentions(from, axis) || mentions(to, axis))
      axes.push_back(axis);
  int64_t all = mesh.getGroupSize(axes);
  bool spare = false;
  for (unsigned dim = 0; dim < from.dims.size(); ++dim) {
    bool splits = !from.dims[dim].empty() || !to.dims[dim].empty();
    // One more dim, over which a sum may be scattered on its way.
    bool scatters = !splits && !spare && !from.unreduced.empty() &&
                    global.getDimSize(dim) % all == 0;
    spare |= scatters;
    if (splits || scatters)
      dims.push_back(dim);
  }
}

std::string Search::encode(const Layout &layout) const {
  std::string key;
  auto add = [&](const AxisList &list) {
    for (StringAttr axis : list)
      key += char('a' + (llvm::find(axes, axis) - axes.begin()));
    key += '|';
  };
  for (unsigned dim : dims)
    add(layout.dims[dim]);
  add(layout.unreduced);
  return key;
}

AxisList Search::getFree(const Layout &layout) const {
  AxisList list;
  for (StringAttr axis : axes)
    if (!llvm::is_contained(layout.unreduced, axis) &&
        llvm::none_of(layout.dims, [&](const AxisList &used) {
          return llvm::is_contained(used, axis);
        }))
      list.push_back(axis);
  return list;
}

void Search::reach(int number, Kind kind, ArrayRef<StringAttr> group,
                   unsigned dim, unsigned concatDim, Layout after,
                   ArrayRef<int64_t> sources) {
  const Node &before = nodes[number];
  double step = getStepCost(kind, group,
                            getShardBytes(global, before.layout, mesh), mesh);
  double cost = before.cost + step + getStepOverhead(kind);
  if (cost >= bound)
    return;
  auto [entry, isNew] = known.try_emplace(encode(after), int(nodes.size()));
  if (!isNew && nodes[entry->second].cost <= cost)
    return;
  ReshardStep made{kind,
                   AxisList(group),
                   dim,
                   concatDim,
                   SmallVector<int64_t>(sources),
                   after,
                   step};
  if (isNew)
    nodes.push_back({std::move(after), std::move(made), number, cost, false});
  else
    nodes[entry->second] = {std::move(after), std::move(made), number, cost,
                            false};
  queue.push({cost, entry->second});
}

void Search::cut(int number) {
  // One axis at a time: cuts cost nothing, and those of one dim are merged.
  Layout layout = nodes[number].layout;
  for (StringAttr axis : getFree(layout))
    for (unsigned dim : dims) {
      Layout after = layout;
      after.dims[dim].push_back(axis);
      if (divides(after, dim))
        reach(number, Kind::Slice, {axis}, dim, 0, std::move(after));
    }
}

void Search::gather(int number) {
  Layout layout = nodes[number].layout;
  for (unsigned dim : dims)
    for (unsigned count = 1; count <= layout.dims[dim].size(); ++count) {
      Layout after = layout;
      after.dims[dim].resize(layout.dims[dim].size() - count);
      reach(number, Kind::AllGather,
            ArrayRef(layout.dims[dim]).take_back(count), dim, 0,
            std::move(after));
    }
}

void Search::exchange(int number) {
  Layout layout = nodes[number].layout;
  for (unsigned concat : dims)
    for (unsigned count = 1; count <= layout.dims[concat].size(); ++count)
      for (unsigned split : dims) {
        if (split == concat)
          continue;
        Layout after = layout;
        AxisList moved(ArrayRef(layout.dims[concat]).take_back(count));
        after.dims[concat].resize(layout.dims[concat].size() - count);
        llvm::append_range(after.dims[split], moved);
        if (divides(after, split))
          reach(number, Kind::AllToAll, moved, split, concat, std::move(after));
      }
}

void Search::reduce(int number) {
  Layout layout = nodes[number].layout;
  AxisList open;
  for (StringAttr axis : layout.unreduced)
    if (!llvm::is_contained(to.unreduced, axis))
      open.push_back(axis);
  forEachOrder(open, [&](ArrayRef<StringAttr> group) {
    Layout whole = layout;
    llvm::erase_if(whole.unreduced, [&](StringAttr axis) {
      return llvm::is_contained(group, axis);
    });
    // The order matters to what is scattered only.
    if (llvm::is_sorted(group, [&](StringAttr a, StringAttr b) {
          return llvm::find(axes, a) < llvm::find(axes, b);
        }))
      reach(number, Kind::AllReduce, group, 0, 0, whole);
    for (unsigned dim : dims) {
      Layout after = whole;
      after.dims[dim].append(group.begin(), group.end());
      if (divides(after, dim))
        reach(number, Kind::ReduceScatter, group, dim, 0, std::move(after));
    }
  });
}

void Search::permute(int number) {
  // Every layout with shards of the same shape: dims are given axes in turn
  // until their sizes multiply to what they were.
  Layout layout = nodes[number].layout;
  AxisList open;
  for (StringAttr axis : axes)
    if (!llvm::is_contained(layout.unreduced, axis))
      open.push_back(axis);
  Layout after = layout;
  for (unsigned dim : dims)
    after.dims[dim].clear();
  auto fill = [&](auto &&self, unsigned next) -> void {
    if (next == dims.size()) {
      AxisList group;
      SmallVector<int64_t> sources =
          findPermutation(layout, after, mesh, group);
      if (!sources.empty())
        reach(number, Kind::Permute, group, 0, 0, after, sources);
      return;
    }
    unsigned dim = dims[next];
    int64_t have = mesh.getGroupSize(after.dims[dim]);
    int64_t want = mesh.getGroupSize(layout.dims[dim]);
    if (have == want)
      return self(self, next + 1);
    for (StringAttr axis : open) {
      bool used = llvm::any_of(after.dims, [&](const AxisList &list) {
        return llvm::is_contained(list, axis);
      });
      if (used || want % (have * mesh.getAxisSize(axis)))
        continue;
      after.dims[dim].push_back(axis);
      self(self, next);
      after.dims[dim].pop_back();
    }
  };
  fill(fill, 0);
}

void Search::divide(int number) {
  Layout layout = nodes[number].layout;
  AxisList wanted;
  for (StringAttr axis : getFree(layout))
    if (llvm::is_contained(to.unreduced, axis))
      wanted.push_back(axis);
  if (wanted.empty())
    return;
  Layout after = layout;
  after.unreduced.clear();
  for (StringAttr axis : axes)
    if (llvm::is_contained(layout.unreduced, axis) ||
        llvm::is_contained(wanted, axis))
      after.unreduced.push_back(axis);
  reach(number, Kind::Divide, wanted, 0, 0, std::move(after));
}

void Search::expand(int number) {
  cut(number);
  divide(number);
  permute(number);
  exchange(number);
  gather(number);
  reduce(number);
}

std::optional<ReshardPlan> Search::run() {
  findParticipants();
  if (axes.size() > kMaxAxes)
    return std::nullopt;
  Node start;
  start.layout = from;
  nodes.push_back(start);
  known[encode(from)] = 0;
  queue.push({0, 0});
  while (!queue.empty()) {
    auto [cost, number] = queue.top();
    queue.pop();
    if (nodes[number].done || cost > nodes[number].cost)
      continue;
    nodes[number].done = true;
    if (nodes[number].layout == to) {
      ReshardPlan plan;
      plan.cost = cost;
      for (int at = number; nodes[at].previous >= 0; at = nodes[at].previous)
        plan.steps.push_back(nodes[at].step);
      std::reverse(plan.steps.begin(), plan.steps.end());
      return plan;
    }
    if (nodes.size() > kMaxLayouts)
      return std::nullopt;
    expand(number);
  }
  return std::nullopt;
}

std::optional<ReshardPlan>
mlir::dist::searchReshard(RankedTensorType global, const Layout &from,
                          const Layout &to, MeshOp mesh, double bound) {
  return Search(global, from, to, mesh, bound).run();
}
