//===- local.cpp - Communicator of one process's devices ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/local.h"
#include "runtime/comm/local/mailbox.h"
#include "runtime/comm/local/rank.h"
#include <algorithm>

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
    shared.generation.fetch_add(1);
    shared.aborted.store(false);
  }
};

} // namespace

Status LocalWorld::create(const WorldOptions &options,
                          std::unique_ptr<LocalWorld> *out) {
  auto world = std::make_unique<AllRanks>();
  Shared &shared = world->shared;
  shared.options = options;
  DIST_RETURN_IF_ERROR(
      MeshGroups::create(options.mesh, options.host, &shared.mesh));
  const int ranks = shared.mesh.ranks();
  std::vector<std::vector<Membership>> groups(ranks);
  for (size_t i = 0; i < shared.mesh.groups(); ++i) {
    shared.groups.push_back(std::make_unique<Group>());
    shared.groups.back()->members = shared.mesh.membersOf(i);
  }
  for (int rank = 0; rank < ranks; ++rank)
    for (int group : shared.mesh.groupsOf(rank)) {
      Membership membership;
      membership.group = shared.groups[group].get();
      const std::vector<int> &members = membership.group->members;
      membership.index =
          std::lower_bound(members.begin(), members.end(), rank) -
          members.begin();
      groups[rank].push_back(membership);
    }
  for (auto &group : shared.groups)
    if (group->members.size() > 1) // one alone waits for none
      group->slots = std::make_unique<Slot[]>(group->members.size());
  for (int rank = 0; rank < ranks; ++rank) {
    shared.mailboxes.push_back(std::make_unique<Mailbox>());
    world->communicators.push_back(std::make_unique<LocalCommunicator>(
        shared, rank, ranks, std::move(groups[rank])));
    shared.progress.push_back(&world->communicators.back()->progress);
  }
  *out = std::move(world);
  return Status();
}

} // namespace dist
