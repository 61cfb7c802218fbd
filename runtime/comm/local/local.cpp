//===- local.cpp - Communicator of one process's devices ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/local.h"
#include "runtime/comm/local/mailbox.h"
#include "runtime/comm/local/rank.h"
#include <map>

namespace dist {

namespace {

using namespace local;

class AllRanks : public LocalWorld {
public:
  Shared shared;
  std::vector<std::unique_ptr<LocalCommunicator>> communicators;

  int ranks() const override { return communicators.size(); }
  Communicator &rank(int rank) override { return *communicators[rank]; }
  void reset() override {
    for (auto &group : shared.groups)
      for (size_t i = 0; group->slots && i < group->members.size(); ++i)
        group->slots[i].arrived.store(0);
    for (auto &mailbox : shared.mailboxes)
      mailbox->clear();
    for (auto &communicator : communicators)
      communicator->reset();
    std::lock_guard<std::mutex> lock(shared.reasonMutex);
    shared.reason.clear();
    shared.aborted.store(false);
  }
};

} // namespace

Status LocalWorld::create(const LocalOptions &options,
                          std::unique_ptr<LocalWorld> *out) {
  // Groups exist for every set of axes, so that no call looks any up.
  constexpr size_t maxAxes = 6;
  constexpr int64_t maxRanks = 1024;
  int64_t ranks = 1;
  for (int64_t size : options.mesh) {
    if (size < 1 || ranks * size > maxRanks || options.mesh.size() > maxAxes)
      return Status::error(StatusCode::InvalidArgument,
                           "a mesh has at most 6 axes and 1024 ranks",
                           toString(options.mesh));
    ranks *= size;
  }
  int64_t devices = ranks;
  ranks += options.host;
  auto world = std::make_unique<AllRanks>();
  Shared &shared = world->shared;
  shared.options = options;
  size_t axes = options.mesh.size();
  shared.coordinates.resize(ranks * axes);
  for (int64_t rank = 0; rank < devices; ++rank)
    for (int64_t rest = rank, axis = axes; axis-- > 0;) {
      shared.coordinates[rank * axes + axis] = rest % options.mesh[axis];
      rest /= options.mesh[axis];
    }
  std::vector<std::vector<Membership>> groups(ranks);
  auto join = [&](int64_t rank, Group &group) {
    Membership membership;
    membership.group = &group;
    membership.index = group.members.size();
    group.members.push_back(rank);
    groups[rank].push_back(membership);
  };
  for (uint32_t mask = 0; mask < 1u << axes; ++mask) {
    // Ranks of one group have the same coordinates on all other axes.
    std::map<int64_t, Group *> groupAt;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      int64_t color = 0;
      for (size_t axis = 0; axis < axes; ++axis)
        color = color * options.mesh[axis] +
                (mask >> axis & 1 ? 0 : shared.coordinate(rank, axis));
      // The host is alone.
      Group *&group = groupAt[rank < devices ? color : -1];
      if (!group) {
        shared.groups.push_back(std::make_unique<Group>());
        group = shared.groups.back().get();
      }
      join(rank, *group);
    }
  }
  if (options.host) {
    shared.groups.push_back(std::make_unique<Group>());
    for (int64_t rank = 0; rank < ranks; ++rank)
      join(rank, *shared.groups.back());
  }
  for (auto &group : shared.groups)
    if (group->members.size() > 1) // one alone waits for none
      group->slots = std::make_unique<Slot[]>(group->members.size());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    shared.mailboxes.push_back(std::make_unique<Mailbox>());
    world->communicators.push_back(std::make_unique<LocalCommunicator>(
        shared, rank, ranks, std::move(groups[rank])));
    shared.progress.push_back(&world->communicators.back()->progress);
  }
  *out = std::move(world);
  return Status();
}

} // namespace dist
