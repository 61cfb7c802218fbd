//===- checkpoint_session.h - Processes that save together ------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SIMULATION_CHECKPOINT_SESSION_H
#define TEST_RUNTIME_SIMULATION_CHECKPOINT_SESSION_H

#include "test/runtime/fake_session.h"
#include "test/runtime/simulation/simulator.h"
#include <optional>

namespace dist::simulation {

/// What the processes of a group have told each other, round by round.
struct Rounds {
  std::vector<std::vector<std::optional<std::string>>> told;
  /// One of them is gone, and the others do not reach each other any more.
  bool isBroken = false;
};

/// A process's part of a group. What every variable holds is a step.
class GroupSession final : public FakeSession {
public:
  GroupSession(Simulator &simulator, Rounds &rounds, int self, int processes)
      : FakeSession(4, 4, 1, processes), simulator(simulator), rounds(rounds),
        self(self), count(processes) {
    local = {self};
  }
  int process() const override { return self; }
  int processes() const override { return count; }
  /// Of a round in which one is lost some hear, and others do not.
  Status exchange(const std::string &mine,
                  std::vector<std::string> *all) override;
  Status agree(bool here, bool *everywhere) override;
  /// Together, where the ranks hold different things.
  Status readVariable(int index, Tensor *out) override;

  void hold(int64_t step);
  bool holds(int64_t step) const;

private:
  Simulator &simulator;
  Rounds &rounds;
  const int self, count;
  size_t next = 0;
};

} // namespace dist::simulation

#endif // TEST_RUNTIME_SIMULATION_CHECKPOINT_SESSION_H
