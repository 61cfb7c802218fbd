//===- CollectiveCall.h - What the runtime does for a collective ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective along any dims as strided blocks of bytes, one piece a tensor:
// what an op knows of itself, and all that its lowering needs.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_COLLECTIVECALL_H
#define DIALECTS_DIST_IR_COLLECTIVECALL_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

#include "dialects/Dist/IR/DistEnums.h.inc"

namespace mlir::dist {

enum class CollectiveKind {
  AllReduce,
  AllGather,
  AllSlice,
  ReduceScatter,
  AllToAll,
  Permute,
  Broadcast,
  Send,
  Recv,
  HostBroadcast,
  HostReduce,
};

/// Strides of one side in bytes: from one outer block to the next, from one row
/// to the next, and from what concerns one rank of the group to the next's.
struct CollectiveStrides {
  int64_t outer = 0, row = 0, position = 0;
};

/// To the rank at position r goes from the one at position p, for o < outer and
/// i < rows, the block of `bytes` bytes at `r * from.position + o * from.outer
/// + i
/// * from.row`; it arrives at `p * to.position + o * to.outer + i * to.row`.
struct CollectivePiece {
  Type elementType;
  int64_t outer = 1, rows = 1, bytes = 0;
  CollectiveStrides from, to;
};

struct CollectiveCall {
  Reduction reduction = Reduction::Sum;
  AllReduceAlgorithm algorithm = AllReduceAlgorithm::Auto;
  /// Position of a broadcast's root, of a send's receiver, of a recv's sender,
  /// of the host (which is the group's last).
  int64_t peer = 0;
  int64_t tag = 0;
  /// Of a permute.
  SmallVector<int64_t> sources;
  SmallVector<CollectivePiece> pieces;
};

} // namespace mlir::dist

#endif // DIALECTS_DIST_IR_COLLECTIVECALL_H
