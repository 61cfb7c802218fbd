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

struct Letter;

/// A collective, as one of its ranks sees it. All that it works with is its
/// own: one of another group may be under way meanwhile, on another thread.
struct Exchange : Description {
  Exchange(const Collective &what, const Team &team)
      : Description(what), team(team) {}

  Membership *group = nullptr;
  /// The group's members by position.
  std::vector<int> memberAt;
  Team team;
  /// Addresses of one reduction's sources and targets.
  std::vector<void *> scratch;
  /// Where this rank's buffers are, as others read it.
  std::shared_ptr<Lists> lists;
  /// Of a send: what lies with the receiver.
  std::shared_ptr<Letter> letter;
  // While it is under way:
  void *const *from = nullptr;
  void *const *to = nullptr;
};

struct LocalPlan final : DescribedPlan {
  LocalPlan(const Collective &call, uint32_t generation, const Team &team)
      : DescribedPlan(call, generation), exchange(this->call, team) {}
  const Description &described() const override { return exchange; }
  Exchange exchange;
};

/// What a rank's collectives have in common.
struct RankState {
  RankState(Shared &shared, int rank, int ranks)
      : shared(shared), rank(rank),
        isHost(shared.options.host && rank == ranks - 1) {}

  Shared &shared;
  const int rank;
  const bool isHost;

  /// Before an exchange that meets others or sends.
  void use(Exchange &exchange) const;
  /// Others read where this rank's buffers are. Its own lists go with it when
  /// it gives up and leaves, so that the group keeps the copies; the buffers
  /// stay as long as the session. A rank that only gives has no list of what it
  /// takes.
  void keepLists(Exchange &exchange) const;
  /// What the rank at a position says of itself, after a meeting.
  const Publication &published(const Exchange &exchange,
                               int64_t position) const {
    return exchange.group->published(exchange.memberAt[position]);
  }
  int worldRank(const Exchange &exchange, int64_t position) const {
    return exchange.group->group->members[exchange.memberAt[position]];
  }
  /// Meets the others of the group; `pack` may write what is small for them.
  template <typename Pack> Status meet(const Exchange &e, Pack pack) const {
    return shared.meet(*e.group, e.call, e.from, e.to, pack);
  }
  Status meet(const Exchange &e) const {
    return meet(e, [](char *) {});
  }
};

/// Finds the group and the order of its ranks. `groups` are the rank's, by mask
/// of axes, and the host's last. Of the rank, nothing changes.
Status prepareExchange(const RankState &state, std::vector<Membership> &groups,
                       Exchange *exchange);
} // namespace dist::local

#endif // RUNTIME_COMM_LOCAL_EXCHANGE_H
