//===- rank.h - One rank of a local world -----------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_LOCAL_RANK_H
#define RUNTIME_COMM_LOCAL_RANK_H

#include "runtime/comm/local/exchange.h"

namespace dist::local {

class LocalCommunicator final : public MeshCommunicator {
public:
  LocalCommunicator(Shared &shared, int rank, int ranks,
                    std::vector<Membership> memberships)
      : MeshCommunicator(shared.options, shared.mesh, rank),
        memberships(std::move(memberships)), state(shared, rank, ranks) {}

  Status prepare(const Collective &call,
                 std::unique_ptr<CollectivePlan> *out) override;
  bool sharesMemory() const override { return true; }
  uint32_t generation() const override {
    return state.shared.generation.load();
  }
  void abort(uint32_t generation, const std::string &reason) override {
    state.shared.abort(generation, reason);
  }
  void reset() {
    for (Membership &group : memberships)
      group.phase = 0;
  }

private:
  Status move(DescribedPlan &plan, void *const *from, void *const *to) override;
  Status show(DescribedPlan &plan, void *const *from,
              void **addresses) override;
  Status ended(const DescribedPlan &plan) const override;

  std::vector<Membership> memberships; // by mask of axes
  RankState state;
};

} // namespace dist::local

#endif // RUNTIME_COMM_LOCAL_RANK_H
