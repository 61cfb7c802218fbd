//===- rank.cpp - One rank that sends and receives ------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/message/rank.h"
#include "runtime/comm/schedule/choice.h"
#include <algorithm>
#include <optional>

namespace dist::message {

int MessageCommunicator::groupSize(uint32_t axes) const {
  const std::vector<int> &mine = groups.groupsOf(rank());
  return axes < mine.size() ? groups.membersOf(mine[axes]).size() : 0;
}

int MessageCommunicator::groupRank(uint32_t axes) const {
  const std::vector<int> &mine = groups.groupsOf(rank());
  if (axes >= mine.size())
    return 0;
  const std::vector<int> &members = groups.membersOf(mine[axes]);
  return std::lower_bound(members.begin(), members.end(), rank()) -
         members.begin();
}

Status MessageCommunicator::prepare(const Collective &call,
                                    std::unique_ptr<CollectivePlan> *out) {
  auto plan = std::make_unique<MessagePlan>(call, generation());
  DIST_RETURN_IF_ERROR(check(options, groups, rank(), &plan->description));
  if (call.kind == CollectiveKind::AllReduce) {
    Description &d = plan->description;
    plan->way = chooseAllReduce(d.algorithm, d.bytes, d.size());
    // Ranks that differ in it are told so, where they would wait for messages
    // that do not come.
    d.call.digest = d.call.digest * 31 + static_cast<uint64_t>(plan->way);
  }
  plan->channel = plan->description.channel;
  *out = std::move(plan);
  return Status();
}

Status MessageCommunicator::begin(const CollectivePlan &plan) const {
  uint32_t now = generation();
  return plan.generation == now ? Status()
                                : outlivedStatus(options, rank(), plan, now);
}

Status MessageCommunicator::run(CollectivePlan &plan, void *const *from,
                                void *const *to) {
  progress.advance();
  DIST_RETURN_IF_ERROR(begin(plan));
  const Collective &what = plan.call;
  auto &own = static_cast<MessagePlan &>(plan);
  Description &description = own.description;
  description.number = plan.number;
  Team worker(team);
  worker.inBackground = what.background;
  if (what.kind == CollectiveKind::AllSlice) {
    // No other rank sees it; a started collective may be under way meanwhile.
    for (int64_t i = 0; i < what.pieces.size; ++i)
      worker.pull(what.pieces[i], from[i], description.position, to[i], 0);
    return Status();
  }
  // Of a started one the rank's own thread counts what it waits for.
  std::optional<Progress::Waiting> waiting;
  if (!what.background)
    waiting.emplace(progress, what.op);
  Post::Inside inside(post);
  Operation operation(post, groups, worker, scratch, description, own.way, from,
                      to);
  Status status = operation.run();
  if (status.ok())
    post.end(description);
  else
    post.giveUp();
  return status;
}

Status MessageCommunicator::publish(CollectivePlan &plan, void *const *from,
                                    void **addresses) {
  if (plan.call.kind != CollectiveKind::AllSlice)
    return Communicator::publish(plan, from, addresses);
  progress.advance();
  DIST_RETURN_IF_ERROR(begin(plan));
  return locateOwnParts(options, rank(),
                        static_cast<MessagePlan &>(plan).description, from,
                        addresses);
}

} // namespace dist::message
