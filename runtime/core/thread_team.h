//===- thread_team.h - Threads that sessions share --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_THREAD_TEAM_H
#define RUNTIME_CORE_THREAD_TEAM_H

#include "runtime/core/wait.h"
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace dist {
namespace cpu {
class SleepingTeam;
}

/// The threads of ranks, one for each but the first, which is the caller's, and
/// the helpers of their loops.
/// Sessions that have one team between them take turns: as many threads as the
/// largest of them wants are there, not as many as all together.
class ThreadTeam {
public:
  ThreadTeam();
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam &) = delete;
  ThreadTeam &operator=(const ThreadTeam &) = delete;

  /// Sees that `workers` threads are there. Throws std::system_error when they
  /// are not to be had; those that there were stay.
  void grow(int workers);
  int workers() const { return int(threads.size()); }
  /// Whether the threads are of this process: a child (fork) has none of them.
  bool isHere() const { return threads.empty() || home == getpid(); }
  /// What runs the loops of a rank on `threads` threads with its own, for whose
  /// runs it is; made when it is asked for first. It throws as grow() does.
  cpu::SleepingTeam *helpersOf(int rank, int threads, int spinMicroseconds);

  /// How long a run's waits stay awake, in microseconds.
  struct Spin {
    int between = 0; // workers, for the next run
    int inRun = 0;   // the caller, for the workers
  };
  /// Calls job(i, data) for each i below `count` (at most workers() + 1), the
  /// first on the caller's thread, and waits for all. One run at a time: others
  /// wait for their turn. A job starts no run of its own team.
  void run(int count, void (*job)(int index, void *data), void *data,
           Spin spin);

private:
  void loop(int index);
  /// Which run is under way, and how many take part in it: one number, so that
  /// no thread reads the one without the other.
  static uint64_t join(uint64_t number, int count) {
    return number << 16 | uint64_t(count);
  }
  static int countOf(uint64_t current) { return int(current & 0xffff); }

  std::mutex turn;
  void (*job)(int, void *) = nullptr;
  void *data = nullptr;
  uint64_t runs = 0;
  std::atomic<uint64_t> current{0};
  std::atomic<int> spinBetween{0};
  std::atomic<int> running{0};
  std::atomic<bool> stopping{false};
  WaitPoint begun, done;
  std::vector<std::thread> threads;
  const pid_t home = getpid();
  using Key = std::tuple<int, int, int>;
  std::map<Key, std::unique_ptr<cpu::SleepingTeam>> helpers;
};

} // namespace dist

#endif // RUNTIME_CORE_THREAD_TEAM_H
