//===- mesh_communicator.cpp - What all communicators do alike ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/common/mesh_communicator.h"
#include <algorithm>
#include <optional>

namespace dist {

int MeshCommunicator::groupSize(uint32_t axes) const {
  const std::vector<int> &mine = groups.groupsOf(self);
  return axes < mine.size() ? groups.membersOf(mine[axes]).size() : 0;
}

int MeshCommunicator::groupRank(uint32_t axes) const {
  const std::vector<int> &mine = groups.groupsOf(self);
  if (axes >= mine.size())
    return 0;
  const std::vector<int> &members = groups.membersOf(mine[axes]);
  return std::lower_bound(members.begin(), members.end(), self) -
         members.begin();
}

Status MeshCommunicator::ended(const DescribedPlan &) const { return Status(); }

Status MeshCommunicator::begin(const DescribedPlan &plan) const {
  uint32_t now = generation();
  if (plan.generation == now)
    return ended(plan);
  return Status::error(StatusCode::Unavailable,
                       std::string(name(plan.call.kind)) + " cannot start",
                       opName(options, self, plan.call.op),
                       "it was prepared in generation " +
                           std::to_string(plan.generation) +
                           ", and this is generation " + std::to_string(now),
                       "prepare it again");
}

std::shared_ptr<PlanMemory>
MeshCommunicator::memoryOf(CollectivePlan::Line line) {
  std::lock_guard<std::mutex> lock(memoriesMutex);
  std::shared_ptr<PlanMemory> &memory = memories[line];
  if (!memory)
    memory = std::make_shared<PlanMemory>();
  return memory;
}

Status MeshCommunicator::run(CollectivePlan &plan, void *const *from,
                             void *const *to) {
  progress.advance();
  auto &own = static_cast<DescribedPlan &>(plan);
  DIST_RETURN_IF_ERROR(begin(own));
  const Collective &what = plan.call;
  if (what.kind == CollectiveKind::AllSlice) {
    // A started collective may be under way meanwhile.
    Team worker(team);
    worker.inBackground = what.background;
    for (int64_t i = 0; i < what.pieces.size; ++i)
      worker.pull(what.pieces[i], from[i], own.described().position, to[i], 0);
    return Status();
  }
  // Of a started one the rank's own thread counts what it waits for.
  std::optional<Progress::Waiting> waiting;
  if (!what.background)
    waiting.emplace(progress, what.op);
  return move(own, from, to);
}

Status MeshCommunicator::show(DescribedPlan &plan, void *const *from,
                              void **addresses) {
  return Communicator::publish(plan, from, addresses);
}

Status MeshCommunicator::publish(CollectivePlan &plan, void *const *from,
                                 void **addresses) {
  progress.advance();
  auto &own = static_cast<DescribedPlan &>(plan);
  DIST_RETURN_IF_ERROR(begin(own));
  if (plan.call.kind == CollectiveKind::AllSlice)
    return locateOwnParts(options, self, own.described(), from, addresses);
  Progress::Waiting waiting(progress, plan.call.op);
  return show(own, from, addresses);
}

} // namespace dist
