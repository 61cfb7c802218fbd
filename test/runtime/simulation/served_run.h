//===- served_run.h - Parameter servers, simulated --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shipped coordinator, workers, servers and their mail. The variables are
// lists of the closures that were applied to them, so that each value shows
// which gradients are in it.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SIMULATION_SERVED_RUN_H
#define TEST_RUNTIME_SIMULATION_SERVED_RUN_H

#include "runtime/parameter_server/coordinator.h"
#include "test/runtime/simulation/wire.h"
#include <optional>

namespace dist::simulation {

using namespace ps;

inline constexpr size_t kLargest = 1 << 16;
/// Gradients, and variables: longer than what leaves its sender at once.
inline constexpr size_t kBytes = 200;
/// However the faults fall, the run is over by then.
inline constexpr std::chrono::minutes kLimit{30};
inline constexpr size_t kMostComers = 8;
/// How long the store keeps what a process put there that has crashed.
inline constexpr std::chrono::seconds kLease{2};

class ServedRun {
public:
  ServedRun(uint64_t seed, bool isTraced);
  ~ServedRun() { simulator.crashAll(); }
  std::string run();

private:
  class LoggedShard;
  class LoggedReplica;
  struct Comer {
    Returning who;
    int process = 0; // the simulator's
    bool hasCome = false;
    /// Whether the coordinator lets another have its place in the store.
    bool isReleased = false;
    int rank = -1; // none yet
    /// When its lease is over, once it has crashed.
    std::optional<Time> leaseEnd;
  };

  void startAll();
  void coordinate();
  Status train(Coordinator &coordinator);
  /// Parts, whose numbers go on from those before.
  Status evaluate(Coordinator &coordinator);
  /// What is scheduled.
  Status finishAll(Coordinator &coordinator);
  void finished(const Completion &done);
  void planFaults();
  /// A process that comes, by chance late, to take a worker's place.
  void planReturn(int index);
  void comeBack(size_t number);
  void admitted(const Returning &who, int rank);
  /// Whether it stands in the store, where each worker has one place.
  bool isInStore(Comer &comer);
  /// Whether another stands in its place.
  bool isPlaceTaken(size_t number);
  void checkEnd();
  /// Whether all that is left to do is with workers that will not move again:
  /// they cannot be told from slow ones, and the coordinator waits.
  bool waitsForFrozen() const;
  /// Whether the end says nothing of this process: it is gone, or will not
  /// move again.
  bool isOut(int rank) const {
    return simulator.isGhost(rank) || simulator.isFrozenForever(rank);
  }
  std::string nameOf(int rank) const { return options.cast.names[rank]; }

  Simulator simulator;
  Wire wire;
  CoordinatorOptions options;
  int64_t closures = 0, first = 0, failing = -1;
  int64_t part = kFirstUnpushed;
  // By server: what was applied, in order.
  std::vector<std::vector<int64_t>> applied;
  std::vector<int64_t> told;
  // By rank.
  std::vector<std::unique_ptr<Transport>> ends;
  std::vector<Status> results;
  std::vector<Comer> comers;
  bool endedWell = false, hasFailed = false, hasNamedLate = false;
  /// Faults of which the run must not go on.
  bool mayFail = false;
};

} // namespace dist::simulation

#endif // TEST_RUNTIME_SIMULATION_SERVED_RUN_H
