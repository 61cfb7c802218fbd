//===- run_watch.h - What a store's records say of runs ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds each change of a store against what must be true of the runs in it:
// who writes for a run does so while it is the job's; a chief is replaced when
// it is lost, and before its roll is closed; the chief alone writes what the
// epochs are, which never go back, and ends its run.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SIMULATION_RUN_WATCH_H
#define TEST_RUNTIME_SIMULATION_RUN_WATCH_H

#include "runtime/cluster/etcd/state.h"
#include "test/runtime/simulation/simulator.h"
#include <map>
#include <set>

namespace dist::simulation {

class RunWatch {
public:
  explicit RunWatch(Simulator &simulator) : simulator(simulator) {}

  /// Whether a process may be taken for lost; not set: any.
  std::function<bool(int process)> mayBeLost;
  /// A record that is kept from now on, of `caller`'s request; below 0: of the
  /// store itself, as where a lease ends.
  void see(int caller, const cluster::JournalRecord &record);
  /// The process that is the chief of the run that was written for last; below
  /// 0: none.
  int chief() const;

private:
  using Values = std::map<std::string, std::string>;
  /// What a record puts in a run's place. Deleted ones are empty.
  void seeRun(int caller, const std::string &run, const Values &changes);
  void seeChief(int caller, const std::string &root, const Values &changes);
  std::string valueOf(const std::string &key) const;
  int processOf(const std::string &chief) const;

  Simulator &simulator;
  Values values;
  std::map<std::string, int> chiefs;     // by what names them: the process
  std::map<std::string, int> lastChiefs; // by run
  std::string lastRun;
};

} // namespace dist::simulation

#endif // TEST_RUNTIME_SIMULATION_RUN_WATCH_H
