//===- rank.cpp - One rank that sends and receives ------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/message/rank.h"
#include "runtime/comm/schedule/choice.h"

namespace dist::message {

Status describe(const WorldOptions &options, const MeshGroups &groups, int rank,
                MessagePlan *plan) {
  Description &d = plan->description;
  DIST_RETURN_IF_ERROR(check(options, groups, rank, &d));
  if (d.what.kind == CollectiveKind::AllReduce) {
    plan->way = chooseAllReduce(d.algorithm, d.bytes, d.size());
    // Ranks that differ in it are told so, where they would wait for messages
    // that do not come.
    d.call.algorithm = plan->way;
  }
  plan->channel = d.channel;
  return Status();
}

Status MessageCommunicator::prepare(const Collective &call,
                                    std::unique_ptr<CollectivePlan> *out) {
  auto plan = std::make_unique<MessagePlan>(call, generation());
  DIST_RETURN_IF_ERROR(describe(options, groups, rank(), plan.get()));
  int64_t bytes = Operation::measure(groups, team, plan->description, plan->way,
                                     &plan->space);
  if (plan->space.kept)
    plan->memory = plan->space.kept->memory;
  else if (bytes > 0) {
    plan->memory = memoryOf(plan->line());
    plan->memory->reserve(bytes);
  }
  *out = std::move(plan);
  return Status();
}

Status MessageCommunicator::move(DescribedPlan &plan, void *const *from,
                                 void *const *to) {
  auto &own = static_cast<MessagePlan &>(plan);
  Description &description = own.description;
  description.number = plan.number;
  Team worker(team);
  worker.inBackground = plan.call.background;
  Post::Inside inside(post);
  char *memory = own.memory ? own.memory->take() : nullptr;
  Operation operation(post, worker, own.space, memory, description, own.way,
                      from, to);
  Status status = operation.run();
  if (status.ok())
    post.end(description);
  else
    post.giveUp(&own.space.call);
  return status;
}

} // namespace dist::message
