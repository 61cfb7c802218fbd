//===- exchange.cpp - A collective under way ------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/exchange.h"

namespace dist::local {

void RankState::use(Exchange &exchange) const {
  bool background = exchange.what.background;
  exchange.team.inBackground = background;
  exchange.group->patient = isHost;
  exchange.group->background = background;
  exchange.group->spinMicroseconds =
      background || isHost ? 0 : shared.options.spinMicroseconds;
}

void RankState::keepLists(Exchange &exchange) const {
  auto keep = [&](bool has, void *const *&list, std::vector<void *> &held) {
    if (!has || !list)
      return;
    held.assign(list, list + exchange.what.pieces.size);
    list = held.data();
  };
  keep(exchange.what.gives, exchange.from, exchange.lists->from);
  keep(exchange.what.takes, exchange.to, exchange.lists->to);
  exchange.group->lists = exchange.lists;
}

Status prepareExchange(const RankState &state, std::vector<Membership> &groups,
                       Exchange *exchange) {
  const Shared &shared = state.shared;
  DIST_RETURN_IF_ERROR(
      check(shared.options, shared.mesh, state.rank, exchange));
  exchange->group = &groups[exchange->groupIndex];
  exchange->memberAt.resize(exchange->size());
  for (int member = 0; member < exchange->size(); ++member)
    exchange->memberAt[exchange->positionOf(shared.mesh, member)] = member;
  exchange->scratch.resize(2 * exchange->size());
  exchange->lists = std::make_shared<Lists>();
  exchange->lists->from.reserve(exchange->what.pieces.size);
  exchange->lists->to.reserve(exchange->what.pieces.size);
  return Status();
}

} // namespace dist::local
