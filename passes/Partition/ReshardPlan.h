//===- ReshardPlan.h - Which collectives change a layout -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reshard is a path through layouts: each step is one collective. The plan is
// a shortest path by bytes sent times the cost of the link, plus a little for
// each step; no IR is involved.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_RESHARDPLAN_H
#define PASSES_PARTITION_RESHARDPLAN_H

#include "dialects/Dist/IR/Processes.h"
#include "passes/Partition/FactorSharding.h"
#include <vector>

namespace mlir::dist {

/// The layout of a tensor: the axes of each dim, major to minor, and those over
/// which the ranks hold partial sums, in the mesh's order.
struct Layout {
  AxisLists dims;
  AxisList unreduced;
  bool operator==(const Layout &other) const {
    return dims == other.dims && unreduced == other.unreduced;
  }
};

/// One collective of a plan.
struct ReshardStep {
  enum class Kind {
    Slice,
    Permute,
    AllToAll,
    AllGather,
    ReduceScatter,
    AllReduce,
    /// A whole value becomes a sum: each rank takes an equal part of it.
    Divide,
  };
  Kind kind;
  /// The group, major to minor.
  AxisList axes;
  /// The dim that is cut or gathered.
  unsigned dim = 0;
  /// AllToAll: the dim that is put together again (`dim` is cut).
  unsigned concatDim = 0;
  /// Permute: the rank of the group whose shard each rank gets.
  SmallVector<int64_t> sources;
  /// The layout after the step.
  Layout after;
  /// Bytes that one rank sends, times the cost of the group's slowest link.
  double cost = 0;
};

struct ReshardPlan {
  std::vector<ReshardStep> steps;
  /// The steps' costs and what each transfer costs besides.
  double cost = 0;
};

/// What starting one transfer costs, in bytes of a plain link: of equal volumes
/// the shorter plan wins, and small tensors go in few steps.
constexpr double kStepCost = 4096;

/// The cost of a byte along the slowest of `axes`, by the mesh's `link_costs`;
/// 1 where nothing is said.
double getLinkCost(MeshOp mesh, ArrayRef<StringAttr> axes);
/// Emits an error if the mesh's `link_costs` cannot be used.
LogicalResult verifyLinkCosts(MeshOp mesh);

/// The layout of a sharding, without axes of size 1.
Layout getLayout(ShardingAttr sharding, MeshOp mesh);

/// The cheapest plan. Falls back to `planReshardGreedily` where more axes take
/// part than the search is made for.
ReshardPlan planReshard(RankedTensorType global, const Layout &from,
                        const Layout &to, MeshOp mesh);

/// Partial sums are completed (by a reduce-scatter if a dim is to be split over
/// that axis anyway); dims that only lack axes are cut; an axis that moves
/// between dims is exchanged; what is left over is gathered. Always finds a way
/// and never looks back: the bound of the search, and its fallback.
ReshardPlan planReshardGreedily(RankedTensorType global, const Layout &from,
                                const Layout &to, MeshOp mesh);

/// Which rank's shard each rank of the group `axes` takes so that a tensor laid
/// out as `from` comes to be laid out as `to`; empty if the shapes of the
/// shards differ. Ranks keep what they have where they can.
SmallVector<int64_t> findPermutation(const Layout &from, const Layout &to,
                                     MeshOp mesh, AxisList &axes);

} // namespace mlir::dist

#endif // PASSES_PARTITION_RESHARDPLAN_H
