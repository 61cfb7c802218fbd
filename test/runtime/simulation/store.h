//===- store.h - A simulated machine with a store ---------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shipped state and journal of a store, behind a network that delays and
// loses calls and answers, and on a disk that tears writes. What it has
// acknowledged must be there after each crash.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SIMULATION_STORE_H
#define TEST_RUNTIME_SIMULATION_STORE_H

#include "runtime/cluster/etcd/state.h"
#include "runtime/cluster/etcd/store.h"
#include "test/runtime/simulation/disk.h"
#include "test/runtime/simulation/run_watch.h"
#include <map>

namespace dist::simulation {

/// Serves a store, and says what of it went wrong.
class StoreMachine {
public:
  /// `owner`: the process that it is in; below 0: a machine of its own. Without
  /// a disk what it holds ends with it.
  StoreMachine(Simulator &simulator, int owner, Disk *disk);

  /// The state of before is read again. False: not yet, the disk is full.
  bool start();
  void stop() { state.reset(); }
  bool isUp() const { return state != nullptr; }
  const int owner;
  /// A machine of its own does nothing until then.
  Time frozenUntil;
  /// When it goes on, if it does nothing now.
  Time nextTurn() const;
  int64_t milliseconds() const;

  /// What it has kept of runs.
  RunWatch watch;

  /// Calls `use(state)` as a request of a process does.
  template <typename Use> cluster::StoreResult serve(int process, Use use) {
    expire();
    caller = process;
    cluster::StoreResult result =
        isUp() ? use(*state)
               : cluster::StoreResult(cluster::StoreCode::Unavailable, "gone");
    return acknowledge(result);
  }

private:
  cluster::StoreResult keep(const cluster::JournalRecord &record);
  cluster::StoreResult acknowledge(const cluster::StoreResult &result);
  void expire();
  void checkRestored(const std::vector<std::string> &restored);

  Simulator &simulator;
  Disk *const disk;
  std::unique_ptr<cluster::Journal> journal;
  std::unique_ptr<cluster::EtcdState> state;
  /// Records that must be there, and those of the request under way.
  std::vector<std::string> acknowledged;
  std::vector<std::string> written;
  bool isRefused = false; // by the disk
  /// One whose keeping failed as the power did: it may be there.
  std::string doubtful;
  /// Whose request is under way, and whose that was; below 0: the store's own.
  int caller = -1, doubtfulCaller = -1;
};

/// How calls travel in a run.
struct NetworkFaults {
  double lost = 0;
  Duration latest = std::chrono::milliseconds(2);
  /// Whether a process reaches a store's owner.
  std::function<bool(int process, int owner)> reaches;
};

/// A process's connection; `find`: the store at its address, null: none.
std::unique_ptr<cluster::Store>
connectTo(Simulator &simulator, const NetworkFaults &faults,
          std::function<std::shared_ptr<StoreMachine>()> find,
          std::chrono::milliseconds timeout);

} // namespace dist::simulation

#endif // TEST_RUNTIME_SIMULATION_STORE_H
