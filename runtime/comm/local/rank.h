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

class LocalCommunicator final : public Communicator {
public:
  LocalCommunicator(Shared &shared, int rank, int ranks,
                    std::vector<Membership> groups)
      : numRanks(ranks), groups(std::move(groups)), state(shared, rank, ranks) {
  }

  int rank() const override { return state.rank; }
  int ranks() const override { return numRanks; }
  int groupSize(uint32_t axes) const override {
    return axes < groups.size() ? groups[axes].size() : 0;
  }
  int groupRank(uint32_t axes) const override {
    return axes < groups.size() ? groups[axes].index : 0;
  }
  Status prepare(const Collective &call,
                 std::unique_ptr<CollectivePlan> *out) override;
  Status run(CollectivePlan &plan, void *const *from, void *const *to) override;
  bool sharesMemory() const override { return true; }
  Status publish(CollectivePlan &plan, void *const *from,
                 void **addresses) override;
  uint32_t generation() const override {
    return state.shared.generation.load();
  }
  void abort(uint32_t generation, const std::string &reason) override {
    state.shared.abort(generation, reason);
  }
  void reset() {
    for (Membership &group : groups)
      group.phase = 0;
  }

private:
  int numRanks;
  std::vector<Membership> groups; // by mask of axes
  RankState state;
};

} // namespace dist::local

#endif // RUNTIME_COMM_LOCAL_RANK_H
