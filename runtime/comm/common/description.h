//===- description.h - A collective, checked --------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every communicator checks what it is asked for here, and compares the same
// digest of it with the other ranks'.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_COMMON_DESCRIPTION_H
#define RUNTIME_COMM_COMMON_DESCRIPTION_H

#include "runtime/comm/common/mesh_groups.h"
#include "runtime/comm/common/options.h"
#include "runtime/comm/common/reduce.h"
#include "runtime/comm/schedule/parts.h"

namespace dist {

/// What all ranks of a group must agree on.
struct Call {
  CollectiveKind kind;
  int32_t op;
  int64_t count;   // elements, for messages
  uint64_t digest; // of all the rest
  /// What an all-reduce goes by; of others Auto. Errors name it.
  Algorithm algorithm = Algorithm::Auto;
  /// With the host: programs number their transfers each for itself.
  bool betweenPrograms = false;
  bool operator==(const Call &other) const {
    return kind == other.kind && (op == other.op || betweenPrograms) &&
           count == other.count && digest == other.digest &&
           algorithm == other.algorithm;
  }
};

/// "all_reduce of op 3 with 7 elements on rank 1"
std::string describe(const WorldOptions &options, int rank, const Call &call);

/// Why what two ranks came with does not fit together: both, with what they
/// differ in.
std::string describeMismatch(const WorldOptions &options, int rank,
                             const Call &call, int other,
                             const Call &othersCall);
/// Why a recv cannot have what was sent to it.
std::string describeMismatchedSend(const WorldOptions &options, int sender,
                                   const Call &sent, int64_t tag,
                                   const Call &expected);

/// A collective as one of its ranks sees it.
struct Description {
  explicit Description(const Collective &what) : what(what) {}

  const Collective &what;
  /// Among the rank's groups: the mask of the axes, or the one with the host.
  size_t groupIndex = 0;
  /// See CollectivePlan.
  std::array<int64_t, 3> channel{};
  int32_t number = CollectivePlan::unnumbered;
  /// World ranks, ascending.
  const std::vector<int> *members = nullptr;
  /// This rank's in the group, by the order of the collective's axes.
  int position = 0;
  bool withHost = false;
  bool inOrder = true; // positions are the members' numbers
  int64_t bytes = 0;   // of all pieces, packed
  Algorithm algorithm = Algorithm::Auto;
  Call call{};

  int size() const { return members->size(); }
  DataType type(int64_t piece) const {
    return static_cast<DataType>(what.pieces[piece].type);
  }
  int64_t width(int64_t piece) const { return byteSize(type(piece)); }
  /// Of a piece that is reduced as a whole.
  int64_t elements(int64_t piece) const {
    const Piece &p = what.pieces[piece];
    return p.outer * p.rows * p.bytes / width(piece);
  }
  ReduceFn reduction(int64_t piece) const {
    return findReduction(type(piece), what.reduction);
  }
  /// A member's position in the group, by the order of axes; the host's is
  /// last.
  int positionOf(const MeshGroups &groups, int member) const;
  /// World rank of who is at a position.
  int rankAt(const MeshGroups &groups, int64_t position) const;
};

/// Fills the rest of a description; an error if it is none of a collective.
Status check(const WorldOptions &options, const MeshGroups &groups, int rank,
             Description *description);

/// Where in `from` each piece's part of this rank's position lies: what an
/// all_slice brings it. An error if a piece is not one block.
Status locateOwnParts(const WorldOptions &options, int rank,
                      const Description &description, void *const *from,
                      void **addresses);

} // namespace dist

#endif // RUNTIME_COMM_COMMON_DESCRIPTION_H
