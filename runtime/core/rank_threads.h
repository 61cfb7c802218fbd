//===- rank_threads.h - The threads of a session's ranks --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_RANK_THREADS_H
#define RUNTIME_CORE_RANK_THREADS_H

#include "runtime/abi/abi.h"
#include "runtime/core/status.h"
#include "runtime/core/thread_team.h"
#include <memory>
#include <mutex>
#include <sched.h>
#include <thread>
#include <vector>

namespace dist {
namespace cpu {
class SleepingTeam;
}

/// Rank 0 runs on the caller's thread, so that one device costs no wake-up and
/// several are exactly as many threads as devices; each other rank has a thread
/// of `team`, with helpers of its own (cpu/team.h). Ranks that together want
/// all CPUs have each their own, where they begin each run (cpus.h), unless the
/// caller's thread may not go to its. None is bound to cores: that thread is
/// the app's, and on cores shared with others a bound thread would make all
/// ranks wait.
class RankThreads {
public:
  /// The threads of each rank's helpers. With a host, the last rank works while
  /// the others wait: it takes no cores from them, and its helpers sleep.
  /// `team`: what other sessions run on, too; null: one of its own.
  /// `ownHelpers`: devices' loops run on threads of ours, since the library's
  /// have nothing to do (cpu::runsOnOneTeam).
  RankThreads(const std::vector<int> &threadsOfRank, bool withHost = false,
              std::shared_ptr<ThreadTeam> team = nullptr,
              bool ownHelpers = false);
  /// An error: the system has not so many threads. Then nothing can be run.
  const Status &status() const { return startStatus; }
  ~RankThreads();
  RankThreads(const RankThreads &) = delete;
  RankThreads &operator=(const RankThreads &) = delete;

  /// Calls job(rank, data) on all ranks and waits for them. An exception of
  /// one of them becomes an error.
  Status run(void (*job)(int rank, void *data), void *data);
  template <typename Function> Status run(Function &&function) {
    return run(
        [](int rank, void *data) { (*static_cast<Function *>(data))(rank); },
        const_cast<void *>(static_cast<const void *>(&function)));
  }
  /// Runs a kernel on the calling rank's threads: see entrypoints.def.
  static void parallelFor(dist_rt_kernel kernel, void **buffers, int64_t n,
                          int32_t chunks);
  /// How long devices that wait for devices should stay awake: not at all when
  /// they are more than the cores.
  int spinMicroseconds() const;
  /// The same where the host may be who is missing: not for long when it works
  /// on the cores of those that wait.
  int spinForAll() const;

  /// Gives the seat of a rank, on its thread, to one that has no CPU, because
  /// another program has its; the rank's own is the other one's then. False:
  /// that one has a CPU, or needs none, or ranks have no seats or several.
  bool giveSeat(int rank, int to);
  /// On the rank's thread: goes to its seat.
  void sit(int rank);

private:
  Status start();
  /// An error: a process that has none of the threads, as a child (fork).
  Status checkProcess() const;
  bool isHost(int rank) const { return withHost && rank == ranks - 1; }
  bool hasOneSeat(int rank) const {
    return !seats.empty() && !isHost(rank) && threadsOfRank[rank] == 1;
  }
  /// The CPUs of a rank's team; null: it has no seats, as the host.
  const int *seatsOf(int rank) const;
  /// The rank's part of a run.
  void runJob(int rank);

  std::vector<int> threadsOfRank;
  std::vector<int> seats, firstSeat;       // of all ranks' teams; by rank
  std::mutex seatsMutex;                   // of what changes while ranks work
  std::vector<std::atomic<int>> threadIds; // of ranks at work; else 0
  std::vector<cpu_set_t> allowed;          // CPUs of these, as they began
  int ranks;
  bool withHost, ownHelpers, roomy, roomyWithHost;
  bool seated = false; // in this run
  void (*job)(int, void *) = nullptr;
  void *data = nullptr;
  Status startStatus;
  std::mutex failureMutex;
  Status failure; // the first of a run
  std::shared_ptr<ThreadTeam> team;
  /// The team's, of the loops of ranks, the host's too; null: libgomp's threads
  /// run them.
  std::vector<cpu::SleepingTeam *> loops;
};

} // namespace dist

#endif // RUNTIME_CORE_RANK_THREADS_H
