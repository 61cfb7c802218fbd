//===- checkpoint_faults.cpp - Faults of who saves ------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/checkpoint_run.h"

namespace dist::simulation {

static constexpr seconds kWork{1};

std::vector<int> CheckpointRun::alive() const {
  std::vector<int> all;
  for (auto &[process, group] : groupOf)
    if (!isGone(process))
      all.push_back(process);
  return all;
}

void CheckpointRun::disturb() {
  const std::vector<int> there = alive();
  if (there.empty())
    return;
  // The chief has most to do.
  const Group &newest = *groups.back();
  const bool isChief = simulator.chance(0.7);
  const int victim =
      isChief ? newest.processes[0] : there[simulator.below(there.size())];
  const int points = int(simulator.below(120));
  isCalm = false;
  switch (simulator.below(9)) {
  case 0:
    simulator.crashAfter(victim, points);
    return startLater(/*takesOver=*/false, seconds(1));
  case 1: {
    const bool isGivenUp = simulator.chance(0.3);
    simulator.freezeAfter(victim, points,
                          simulator.between(milliseconds(100), seconds(6)));
    if (isGivenUp)
      lose(victim);
    return startLater(/*takesOver=*/true, milliseconds(200));
  }
  case 2:
    for (int process : there)
      simulator.crash(process);
    storage.losePower();
    hasLostPower = true;
    return startLater(/*takesOver=*/false, {});
  case 3:
    storage.isFull = true;
    return simulator.at(simulator.now() +
                            simulator.between({}, simulator.chance(0.5)
                                                      ? milliseconds(5)
                                                      : milliseconds(200)),
                        [this] { storage.isFull = false; });
  case 4: // one of several, wherever its threads are
    simulator.crash(victim);
    if (isElastic && runsAfter == 0 && simulator.chance(0.7))
      return;
    return startLater(/*takesOver=*/false, {});
  case 5:
    storage.refusesIn = int(simulator.below(40));
    return;
  case 6:
    storage.isBusy = true;
    return simulator.at(simulator.now() +
                            simulator.between({}, milliseconds(100)),
                        [this] { storage.isBusy = false; });
  case 7:
    storage.slowest = simulator.between(milliseconds(1), milliseconds(20));
    return simulator.at(simulator.now() +
                            simulator.between({}, milliseconds(200)),
                        [this] { storage.slowest = Storage::kSlowest; });
  default: // someone starts it once more
    return startLater(/*takesOver=*/false, {});
  }
}

void CheckpointRun::planFaults() {
  const int count = simulator.chance(0.1) ? 0 : 1 + int(simulator.below(5));
  for (int i = 0; i < count; ++i)
    simulator.at(simulator.now() + simulator.between({}, kWork),
                 [this] { disturb(); });
}

} // namespace dist::simulation
