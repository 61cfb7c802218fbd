//===- message.cpp - Communicator of ranks that send messages -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/message/message.h"
#include "runtime/comm/message/rank.h"

namespace dist {

namespace {

using namespace message;

class RanksHere : public MessageWorld {
public:
  MessageOptions options;
  MeshGroups groups;
  std::vector<std::unique_ptr<MessageCommunicator>> here; // by rank, or null

  int ranks() const override { return groups.ranks(); }
  Communicator &rank(int rank) override { return *here[rank]; }
  void reset() override {
    for (auto &communicator : here)
      if (communicator)
        communicator->reset();
  }
  Traffic traffic(int rank) override { return here[rank]->traffic(); }
};

} // namespace

Status MessageWorld::create(const MessageOptions &options,
                            std::vector<std::unique_ptr<Transport>> ends,
                            std::unique_ptr<MessageWorld> *out) {
  auto world = std::make_unique<RanksHere>();
  world->options = options;
  DIST_RETURN_IF_ERROR(
      MeshGroups::create(options.mesh, options.host, &world->groups));
  int ranks = world->groups.ranks();
  world->here.resize(ranks);
  for (std::unique_ptr<Transport> &end : ends) {
    int rank = end->rank();
    if (end->ranks() != ranks || rank < 0 || rank >= ranks || world->here[rank])
      return Status::error(
          StatusCode::InvalidArgument, "ranks cannot reach each other", "",
          "end " + std::to_string(rank) + " of " +
              std::to_string(end->ranks()) + " is none of a mesh of " +
              std::to_string(ranks) + " ranks");
    world->here[rank] = std::make_unique<MessageCommunicator>(
        world->options, world->groups, std::move(end));
  }
  *out = std::move(world);
  return Status();
}

} // namespace dist
