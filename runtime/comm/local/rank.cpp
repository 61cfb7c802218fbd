//===- rank.cpp - One rank of a local world -------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/rank.h"
#include "runtime/comm/local/direct.h"
#include "runtime/comm/local/mailbox.h"
#include "runtime/comm/local/peer_access.h"
#include "runtime/comm/local/stepwise.h"
#include <optional>

namespace dist::local {

Status LocalCommunicator::prepare(const Collective &call,
                                  std::unique_ptr<CollectivePlan> *out) {
  auto plan = std::make_unique<LocalPlan>(call, generation());
  DIST_RETURN_IF_ERROR(prepareExchange(state, groups, &plan->exchange));
  plan->channel = plan->exchange.channel;
  *out = std::move(plan);
  return Status();
}

Status LocalCommunicator::run(CollectivePlan &plan, void *const *from,
                              void *const *to) {
  progress.advance();
  auto &local = static_cast<LocalPlan &>(plan);
  DIST_RETURN_IF_ERROR(begin(state, local));
  const Collective &what = plan.call;
  Exchange &e = local.exchange;
  e.from = from;
  e.to = to;
  if (what.kind == CollectiveKind::AllSlice) {
    Team team(state.shared.options);
    team.inBackground = what.background;
    for (int64_t i = 0; i < what.pieces.size; ++i)
      team.pull(what.pieces[i], from[i], e.position, to[i], 0);
    return Status();
  }
  state.use(e);
  // Of a started one the rank's own thread counts what it waits for.
  std::optional<Progress::Waiting> waiting;
  if (!what.background)
    waiting.emplace(progress, what.op);
  auto &mailboxes = state.shared.mailboxes;
  switch (what.kind) {
  case CollectiveKind::Send:
    mailboxes[state.worldRank(e, what.peer)]->put(rank(), what.tag, e.call,
                                                  what, from);
    return Status();
  case CollectiveKind::Recv:
    return receive(state.shared, *mailboxes[rank()], rank(),
                   state.worldRank(e, what.peer), e.call, what, to);
  default:
    break;
  }
  if (what.kind == CollectiveKind::Barrier)
    return e.size() > 1 ? state.meet(e) : Status();
  if (e.bytes == 0)
    return Status();
  if (e.size() > 1 && e.algorithm == Algorithm::ReduceToOne)
    return reduceToOne(e, state);
  if (e.size() > 1 && e.algorithm == Algorithm::Ring)
    return reduceInRing(e, state);
  return collectDirectly(e, state);
}

Status LocalCommunicator::publish(CollectivePlan &plan, void *const *from,
                                  void **addresses) {
  progress.advance();
  auto &local = static_cast<LocalPlan &>(plan);
  DIST_RETURN_IF_ERROR(begin(state, local));
  local.exchange.from = from;
  local.exchange.to = nullptr;
  Progress::Waiting waiting(progress, plan.call.op);
  return publishBuffers(local.exchange, state, addresses);
}

} // namespace dist::local
