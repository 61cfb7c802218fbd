//===- rank.h - One rank that sends and receives ----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_MESSAGE_RANK_H
#define RUNTIME_COMM_MESSAGE_RANK_H

#include "runtime/comm/common/mesh_communicator.h"
#include "runtime/comm/message/operation.h"

namespace dist::message {

struct MessagePlan final : DescribedPlan {
  MessagePlan(const Collective &call, uint32_t generation)
      : DescribedPlan(call, generation), description(this->call) {}
  const Description &described() const override { return description; }
  Description description;
  Algorithm way = Algorithm::Auto; // chosen, of an all-reduce
  Workspace space;
};

/// Checks a plan's call, and chooses how it goes.
Status describe(const WorldOptions &options, const MeshGroups &groups, int rank,
                MessagePlan *plan);

class MessageCommunicator final : public MeshCommunicator {
public:
  MessageCommunicator(const MessageOptions &options, const MeshGroups &groups,
                      std::unique_ptr<Transport> transport)
      : MeshCommunicator(options, groups, transport->rank()),
        post(options, groups, std::move(transport), progress) {}

  Status prepare(const Collective &call,
                 std::unique_ptr<CollectivePlan> *out) override;
  void beginStep() override { post.beginStep(); }
  uint32_t generation() const override { return post.currentGeneration(); }
  void abort(uint32_t generation, const std::string &reason) override {
    post.abort(generation, reason);
  }
  void reset() { post.reset(); }
  Traffic traffic() { return post.traffic(); }

private:
  Status move(DescribedPlan &plan, void *const *from, void *const *to) override;

  Post post;
};

} // namespace dist::message

#endif // RUNTIME_COMM_MESSAGE_RANK_H
