//===- membership_faults.cpp - Faults of processes that meet --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/membership_run.h"

namespace dist::simulation {

bool MembershipRun::allWork() const {
  return std::all_of(processes.begin(), processes.end(), [&](auto &one) {
    return isGone(one.first) || one.second.works;
  });
}

/// The one whose turn it is to be the chief is killed, too: before it has
/// closed the roll, before the others watch it, or at work.
void MembershipRun::loseNext() {
  for (int task = 0; task < tasks; ++task)
    for (auto &[number, process] : processes)
      if (process.task == task && process.hasWorked && !isGone(number))
        return simulator.crashAfter(number, int(simulator.below(60)));
}

/// Meets one of the processes that are there.
void MembershipRun::disturb() {
  std::vector<int> there;
  for (auto &[number, process] : processes)
    if (!isGone(number))
      there.push_back(number);
  if (there.empty())
    return;
  const int victim = there[simulator.below(there.size())];
  Process &process = processes.at(victim);
  if ((process.task > 0 || isShared) && allWork() && simulator.chance(0.5)) {
    if (isElastic && isShared && simulator.chance(0.5))
      simulator.at(simulator.now() + upTo(milliseconds(1500)),
                   [this] { loseNext(); });
    return simulator.crash(victim);
  }
  goesOn = false;
  doubtful.insert(victim);
  switch (simulator.below(5)) {
  case 0:
    simulator.crashAfter(victim, int(simulator.below(60)));
    return;
  case 1:
    return simulator.crash(victim);
  case 2:
    simulator.freeze(victim, simulator.now() + upTo(seconds(6)));
    return;
  case 3: // longer than a lease, and another takes its place
    simulator.freeze(victim, simulator.now() +
                                 simulator.between(seconds(6), seconds(40)));
    return restartLater(process.task);
  default: {
    const int owner = stores.empty() ? -1 : stores.begin()->second->owner;
    cuts.insert({victim, owner});
    simulator.at(simulator.now() + upTo(seconds(20)),
                 [this, victim, owner] { cuts.erase({victim, owner}); });
  }
  }
}

void MembershipRun::disturbStore() {
  goesOn = false;
  isStoreDoubtful = true;
  StoreMachine &machine = *stores.at(kStoreAddress);
  switch (simulator.below(4)) {
  case 0:
    return disk.fill();
  case 1:
    machine.frozenUntil = simulator.now() + upTo(seconds(20));
    return;
  case 2:
    machine.stop();
    return restartStore();
  default:
    disk.crashIn(int(simulator.below(12)));
    // Whether it writes so often or not.
    simulator.at(simulator.now() + upTo(seconds(5)), [this] {
      stores.at(kStoreAddress)->stop();
      restartStore();
    });
  }
}

void MembershipRun::restartStore() {
  simulator.at(simulator.now() + upTo(seconds(8)), [this] {
    StoreMachine &machine = *stores.at(kStoreAddress);
    if (machine.isUp())
      return;
    disk.lose();
    if (!machine.start())
      restartStore();
  });
}

void MembershipRun::planFaults() {
  const int count = simulator.chance(0.2) ? 0 : 1 + int(simulator.below(4));
  for (int i = 0; i < count; ++i) {
    isCalm = false;
    const bool isStores = isShared && simulator.chance(0.4);
    simulator.at(simulator.now() +
                     upTo(simulator.chance(0.3) ? seconds(1) : seconds(30)),
                 [this, isStores] { isStores ? disturbStore() : disturb(); });
  }
  if (count > 0 && !isElastic && simulator.chance(0.3))
    faults.lost = 0.05;
  if (simulator.chance(0.1)) {
    isCalm = goesOn = false;
    start(int(simulator.below(uint64_t(tasks))));
  }
  if (simulator.chance(0.05)) {
    isCalm = goesOn = false;
    processes.begin()->second.program = "another";
  }
}

} // namespace dist::simulation
