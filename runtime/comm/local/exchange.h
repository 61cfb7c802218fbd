//===- exchange.h - A collective under way ----------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_LOCAL_EXCHANGE_H
#define RUNTIME_COMM_LOCAL_EXCHANGE_H

#include "runtime/comm/local/group.h"
#include "runtime/comm/local/team.h"

namespace dist::local {

/// A collective under way, as one of its ranks sees it.
struct Exchange {
  const Collective &what;
  void *const *from;
  void *const *to;
  Membership *group = nullptr;
  /// This rank's in the group, by the order of the collective's axes.
  int position = 0;
  bool withHost = false;
  bool inOrder = true; // positions are the members' numbers
  int64_t bytes = 0;   // of all pieces, packed
  Algorithm algorithm = Algorithm::Auto;
  Call call{};

  int size() const { return group->size(); }
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
};

/// What one rank has for the collectives that it takes part in, one at a time.
struct RankState {
  RankState(Shared &shared, int rank, int ranks);

  Shared &shared;
  const int rank;
  const bool isHost;
  Team team;
  /// Addresses of one reduction's sources and targets.
  std::vector<void *> scratch;
  /// The group's members by position.
  std::vector<int> memberAt;

  /// Sets what an exchange uses of the rank. Only for one that meets others or
  /// sends: what a rank does by itself may come while a started collective is
  /// under way on another thread, which would take this exchange's for its own.
  void prepare(const Exchange &exchange);
  /// Others read where this rank's buffers are. Its own lists go with it when
  /// it gives up and leaves, so they are kept here; the buffers stay as long as
  /// the session. A rank that only gives has no list of what it takes.
  void keepLists(Exchange &exchange);
  /// What the rank at a position says of itself, after a meeting.
  const Publication &published(const Exchange &exchange,
                               int64_t position) const {
    return exchange.group->published(memberAt[position]);
  }
  int worldRank(const Exchange &exchange, int64_t position) const {
    return exchange.group->group->members[memberAt[position]];
  }
  /// Meets the others of the group, to whom `pack` may write what is small.
  template <typename Pack> Status meet(const Exchange &e, Pack pack) {
    return shared.meet(*e.group, e.call, e.from, e.to, pack);
  }
  Status meet(const Exchange &e) {
    return meet(e, [](char *) {});
  }

private:
  std::vector<void *> heldFrom, heldTo;
};

/// Packed pieces start where any element may lie.
constexpr int64_t alignPacked(int64_t bytes) { return (bytes + 7) & ~7; }

/// A member's position in the group, by the order of axes; the host's is last.
int64_t positionOf(const Shared &shared, const Exchange &exchange, int member);

/// Finds the group and the order of its ranks. `groups` are the rank's, by mask
/// of axes, and the host's last. Of the rank, nothing changes.
Status begin(const RankState &state, std::vector<Membership> &groups,
             Exchange &exchange);

/// The part of `count` elements of rank `index` of `size`, cut at cache lines.
std::pair<int64_t, int64_t> partOf(int64_t count, int64_t elementBytes,
                                   int index, int size);

} // namespace dist::local

#endif // RUNTIME_COMM_LOCAL_EXCHANGE_H
