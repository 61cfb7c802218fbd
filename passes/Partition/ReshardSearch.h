//===- ReshardSearch.h - Shortest path between two layouts -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_RESHARDSEARCH_H
#define PASSES_PARTITION_RESHARDSEARCH_H

#include "passes/Partition/ReshardPlan.h"
#include <optional>

namespace mlir::dist {

/// Bytes of one rank's part.
int64_t getShardBytes(RankedTensorType global, const Layout &layout,
                      MeshOp mesh);
/// What one step costs: bytes sent by a rank times the link's cost.
double getStepCost(ReshardStep::Kind kind, ArrayRef<StringAttr> axes,
                   int64_t shardBytes, MeshOp mesh);
/// What it costs besides, however small the tensor is.
double getStepOverhead(ReshardStep::Kind kind);

/// The cheapest plan below `bound`; nothing if there is none, or if the layouts
/// have too many axes to look at all orders of them.
std::optional<ReshardPlan> searchReshard(RankedTensorType global,
                                         const Layout &from, const Layout &to,
                                         MeshOp mesh, double bound);

} // namespace mlir::dist

#endif // PASSES_PARTITION_RESHARDSEARCH_H
