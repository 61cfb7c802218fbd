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

namespace dist::local {

Status LocalCommunicator::prepare(const Collective &call,
                                  std::unique_ptr<CollectivePlan> *out) {
  auto plan = std::make_unique<LocalPlan>(call, generation(), team);
  Exchange &e = plan->exchange;
  DIST_RETURN_IF_ERROR(prepareExchange(state, memberships, &e));
  auto &mailboxes = state.shared.mailboxes;
  if (call.kind == CollectiveKind::Send) {
    mailboxes[state.worldRank(e, call.peer)]->open(rank(), call.tag);
    e.letter = makeLetter(call);
    plan->memory = e.letter->memory;
  } else if (call.kind == CollectiveKind::Recv) {
    mailboxes[rank()]->open(state.worldRank(e, call.peer), call.tag);
  }
  plan->channel = plan->exchange.channel;
  *out = std::move(plan);
  return Status();
}

Status LocalCommunicator::ended(const DescribedPlan &plan) const {
  const Shared &shared = state.shared;
  return shared.aborted.load()
             ? state.shared.abortedStatus(rank(), plan.described().call)
             : Status();
}

Status LocalCommunicator::move(DescribedPlan &plan, void *const *from,
                               void *const *to) {
  const Collective &what = plan.call;
  Exchange &e = static_cast<LocalPlan &>(plan).exchange;
  e.from = from;
  e.to = to;
  if (what.kind == CollectiveKind::Send)
    return send(state.shared, rank(), state.worldRank(e, what.peer), e.call,
                what, from, e.letter);
  if (what.kind == CollectiveKind::Recv)
    return receive(state.shared, rank(), state.worldRank(e, what.peer), e.call,
                   what, to);
  state.use(e);
  if (what.kind == CollectiveKind::Barrier)
    return e.size() > 1 ? state.meet(e) : Status();
  if (e.bytes == 0)
    return Status();
  if (e.size() > 1 && e.algorithm == Algorithm::ReduceToOne)
    return reduceToOne(e, state);
  if (e.size() > 1 && e.algorithm == Algorithm::Ring)
    return reduceInRing(e, state);
  if (e.size() > 1 && e.algorithm == Algorithm::HalvingDoubling)
    return reduceInHalves(e, state);
  return collectDirectly(e, state);
}

Status LocalCommunicator::show(DescribedPlan &plan, void *const *from,
                               void **addresses) {
  Exchange &e = static_cast<LocalPlan &>(plan).exchange;
  e.from = from;
  e.to = nullptr;
  return publishBuffers(e, state, addresses);
}

} // namespace dist::local
