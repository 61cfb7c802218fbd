//===- rank.h - One rank that sends and receives ----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_MESSAGE_RANK_H
#define RUNTIME_COMM_MESSAGE_RANK_H

#include "runtime/comm/message/operation.h"

namespace dist::message {

struct MessagePlan final : CollectivePlan {
  MessagePlan(const Collective &call, uint32_t generation)
      : CollectivePlan(call, generation), description(this->call) {}
  Description description;
  Algorithm way = Algorithm::Auto; // chosen, of an all-reduce
};

class MessageCommunicator final : public Communicator {
public:
  MessageCommunicator(const MessageOptions &options, const MeshGroups &groups,
                      std::unique_ptr<Transport> transport)
      : options(options), groups(groups), team(options),
        post(options, groups, std::move(transport), progress) {}

  int rank() const override { return post.rank(); }
  int ranks() const override { return groups.ranks(); }
  int groupSize(uint32_t axes) const override;
  int groupRank(uint32_t axes) const override;
  Status prepare(const Collective &call,
                 std::unique_ptr<CollectivePlan> *out) override;
  void beginStep() override { post.beginStep(); }
  Status run(CollectivePlan &plan, void *const *from, void *const *to) override;
  /// Of an all_slice alone, which no other rank sees.
  Status publish(CollectivePlan &plan, void *const *from,
                 void **addresses) override;
  uint32_t generation() const override { return post.currentGeneration(); }
  void abort(uint32_t generation, const std::string &reason) override {
    post.abort(generation, reason);
  }
  void reset() { post.reset(); }
  Traffic traffic() { return post.traffic(); }

private:
  /// Whether the plan may start.
  Status begin(const CollectivePlan &plan) const;

  const MessageOptions &options;
  const MeshGroups &groups;
  Team team;
  Scratch scratch;
  Post post;
};

} // namespace dist::message

#endif // RUNTIME_COMM_MESSAGE_RANK_H
