//===- Mesh.h - Ranks, groups and local types -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of a mesh: which ranks form a group, what part of a tensor a
// rank holds. One file, so that partitioner, evaluator and lowering agree.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_MESH_H
#define DIALECTS_DIST_IR_MESH_H

#include "dialects/Dist/IR/Dist.h"

namespace mlir::dist {

/// The module's mesh, or null: one device.
MeshOp findMesh(Operation *moduleOrInside);

/// The type of one rank's part. Fails if a dim is not divisible.
FailureOr<RankedTensorType> getLocalType(RankedTensorType global,
                                         ShardingAttr sharding, MeshOp mesh);
/// The whole tensor's type from one rank's.
RankedTensorType getGlobalType(RankedTensorType local, ShardingAttr sharding,
                               MeshOp mesh);

/// How many elements a dim of `size` has once `shards` parts of it are equal:
/// the next multiple. The elements added stand at its end.
int64_t getPaddedSize(int64_t size, int64_t shards);
/// Whether a dim may be split into `shards` parts: they are equal, or less than
/// half of what all have together is padding.
bool isSplitWorthwhile(int64_t size, int64_t shards);
/// The same, or, if `strict`, whether they are equal.
bool isSplitAllowed(int64_t size, int64_t shards, bool strict);
/// Of a dim that may not: "has 7 elements, which 'x' cannot split into 2 equal
/// parts; sizes that work are 6 and 8".
std::string describeMisfit(int64_t size, int64_t shards, StringRef axes,
                           bool strict);
/// The type of the whole with each dim as large as its shards need.
RankedTensorType getPaddedType(RankedTensorType global, ShardingAttr sharding,
                               MeshOp mesh);

/// The number of parts that dim `dim` is split into.
int64_t getNumShards(ShardingAttr sharding, unsigned dim, MeshOp mesh);

/// Position of `rank` among the ranks that differ along `axes` (major to
/// minor).
int64_t getPositionInGroup(MeshOp mesh, int64_t rank,
                           ArrayRef<StringAttr> axes);

/// The ranks of each group along `axes`, in the order of their positions;
/// groups in the order of their first rank.
SmallVector<SmallVector<int64_t>> getGroups(MeshOp mesh,
                                            ArrayRef<StringAttr> axes);

/// What a simulated rank finds behind the end of a dim that does not divide.
/// Poison is NaN, or an integer that is no index: it shows where it is used.
enum class ShardPadding { Zero, Poison };

/// The part of `global` that `rank` holds. Unreduced: the first rank along the
/// unreduced axes holds the value, the others zero.
HostTensor cutShard(const HostTensor &global, ShardingAttr sharding,
                    MeshOp mesh, int64_t rank,
                    ShardPadding padding = ShardPadding::Zero);

/// The whole tensor from all ranks' parts; sums over unreduced axes. Where
/// ranks hold copies, the first one's is taken and `largestCopyDifference`, if
/// not null, becomes how far the others are from it (relative to the tensor's
/// largest magnitude; infinity if only one of two is NaN).
HostTensor joinShards(ArrayRef<HostTensor> shards, ShardingAttr sharding,
                      MeshOp mesh, double *largestCopyDifference = nullptr);

/// The first elements of each dim, as many as `type` has: without padding.
HostTensor dropPadding(const HostTensor &padded, RankedTensorType type);

/// Part `part` of `parts` equal ones along `dim`; and parts put together.
HostTensor cutDim(const HostTensor &tensor, unsigned dim, int64_t part,
                  int64_t parts);
HostTensor joinDim(ArrayRef<HostTensor> parts, unsigned dim);

/// Element-wise reduction of tensors of one type, first to last.
HostTensor combine(ArrayRef<HostTensor> parts, Reduction reduction);

/// Whether a variable, a function or a lowered program is the host's.
bool isOnHost(Operation *op);
/// The number of the program that a function, or what it was lowered to, is a
/// part of: its stage's; the host's comes behind the one of the devices.
int64_t getProgramNumber(Operation *function);
/// The ranks that run program `number` of `count`: the first, and how many.
std::pair<int64_t, int64_t> getProgramRanks(MeshOp mesh, int64_t number,
                                            int64_t count);

/// The sharding of a result from its op's `dist.shardings`, or of an argument
/// of a function from its `dist.sharding`; null if there is none.
ShardingAttr findSharding(Value value);
/// Sets the same.
void setSharding(Value value, ShardingAttr sharding);

/// Text for messages and tables, such as `data` or `data,model`.
std::string formatAxes(ArrayRef<StringAttr> axes);
/// The name a user knows the op by: its NameLoc, else file:line, else the op's.
std::string getOriginName(Operation *op);
/// The same of a location alone; empty if it says nothing.
std::string getLocationName(Location loc);
/// Of what several ops became: all of their names, each once.
SmallVector<std::string> getLocationNames(Location loc);

} // namespace mlir::dist

#endif // DIALECTS_DIST_IR_MESH_H
