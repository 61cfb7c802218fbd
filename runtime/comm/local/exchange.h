//===- exchange.h - A collective under way ----------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_LOCAL_EXCHANGE_H
#define RUNTIME_COMM_LOCAL_EXCHANGE_H

#include "runtime/comm/common/mesh_communicator.h"
#include "runtime/comm/local/group.h"

namespace dist::local {

/// A collective, as one of its ranks sees it.
struct Exchange : Description {
  using Description::Description;

  Membership *group = nullptr;
  /// The group's members by position.
  std::vector<int> memberAt;
  // While it is under way:
  void *const *from = nullptr;
  void *const *to = nullptr;
};

struct LocalPlan final : DescribedPlan {
  LocalPlan(const Collective &call, uint32_t generation)
      : DescribedPlan(call, generation), exchange(this->call) {}
  const Description &described() const override { return exchange; }
  Exchange exchange;
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

  /// Sets what an exchange uses of the rank. Only for one that meets others or
  /// sends: what a rank does by itself may come while a started collective is
  /// under way on another thread, which would take this exchange's for its own.
  void use(const Exchange &exchange);
  /// Others read where this rank's buffers are. Its own lists go with it when
  /// it gives up and leaves, so they are kept here; the buffers stay as long as
  /// the session. A rank that only gives has no list of what it takes.
  void keepLists(Exchange &exchange);
  /// What the rank at a position says of itself, after a meeting.
  const Publication &published(const Exchange &exchange,
                               int64_t position) const {
    return exchange.group->published(exchange.memberAt[position]);
  }
  int worldRank(const Exchange &exchange, int64_t position) const {
    return exchange.group->group->members[exchange.memberAt[position]];
  }
  /// Meets the others of the group; `pack` may write what is small for them.
  template <typename Pack> Status meet(const Exchange &e, Pack pack) {
    return shared.meet(*e.group, e.call, e.from, e.to, pack);
  }
  Status meet(const Exchange &e) {
    return meet(e, [](char *) {});
  }

private:
  std::vector<void *> heldFrom, heldTo;
};

/// Finds the group and the order of its ranks. `groups` are the rank's, by mask
/// of axes, and the host's last. Of the rank, nothing changes.
Status prepareExchange(const RankState &state, std::vector<Membership> &groups,
                       Exchange *exchange);
} // namespace dist::local

#endif // RUNTIME_COMM_LOCAL_EXCHANGE_H
