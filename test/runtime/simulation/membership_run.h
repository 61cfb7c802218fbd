//===- membership_run.h - How processes meet, simulated ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SIMULATION_MEMBERSHIP_RUN_H
#define TEST_RUNTIME_SIMULATION_MEMBERSHIP_RUN_H

#include "runtime/cluster/membership/membership.h"
#include "test/runtime/simulation/machine.h"
#include <algorithm>
#include <set>

namespace dist::simulation {

using namespace cluster;

inline constexpr char kStoreAddress[] = "127.0.0.1:2379";

/// The processes of one job, what they think of each other, and their faults.
class MembershipRun {
public:
  MembershipRun(uint64_t seed, bool isTraced);
  ~MembershipRun() { simulator.crashAll(); }
  std::string run();

private:
  struct Process {
    int task = 0,
        number = 0;     // its number is the simulator's, and that it tells
    bool works = false; // in step with the others of its epoch
    bool hasWorked = false;
    std::string program;
    std::unique_ptr<Machine> machine;
    Status result;
  };
  using List = std::vector<int>; // members' processes
  /// What the processes of an epoch know of each other by their heartbeats.
  struct Epoch {
    std::set<int> arrived, lost;
    bool grows = false, isDone = false;
  };

  Process &start(int task);
  void restartLater(int task);
  Status live(Process &own);
  Status begin(Process &own, Membership &membership, const std::string &what);
  Status beginEpoch(Process &own, Membership &membership);
  bool beginsAgain(const Process &own, Membership &membership,
                   const Status &failed);
  Status meetAgain(Membership &membership);
  Status workOn(Process &own, Membership &membership, bool *regroups);
  Status workAt(Process &own, Membership &membership);
  Status look(int own, Membership &membership, Epoch &epoch);
  void findLost(const List &members, Epoch &epoch);
  void accept(const Process &own, const Membership &membership);
  List listOf(const Membership &membership) const;
  Epoch &epochOf(const Membership &membership) {
    return epochs[{int(membership.members()[0].process), membership.epoch()}];
  }
  bool isGone(int number) const {
    return simulator.isGhost(number) || simulator.isDone(number);
  }
  std::string nameOf(int number) const {
    return "process " + std::to_string(number);
  }

  void planFaults();
  void disturb();
  void loseNext();
  bool allWork() const;
  void disturbStore();
  void restartStore();
  void checkEnd();
  Duration upTo(Duration time) { return simulator.between({}, time); }

  Simulator simulator;
  NetworkFaults faults;
  Stores stores;
  Disk disk;
  /// Members go on without who is lost; in a store that is none of theirs they
  /// have an elected chief, too.
  const bool isElastic, isShared;
  int tasks = 0;
  Duration work{};
  /// None has been disturbed: all must end well.
  bool isCalm = true;
  /// Nothing but ends of members at work, whom the others can do without.
  bool goesOn = true;
  std::set<std::pair<int, int>> cuts; // process, owner of a store
  /// Who may be taken for lost: it was frozen or cut off, or the store was.
  std::set<int> doubtful;
  bool isStoreDoubtful = false;
  std::map<int, Process> processes;            // by number
  std::vector<int> restarts;                   // that are left, by task
  std::map<std::pair<int, int>, Epoch> epochs; // by chief's process, epoch
  std::map<std::pair<int, int>, List> lists;   // by process, epoch
};

} // namespace dist::simulation

#endif // TEST_RUNTIME_SIMULATION_MEMBERSHIP_RUN_H
