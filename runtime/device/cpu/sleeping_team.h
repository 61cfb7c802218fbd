//===- sleeping_team.h - Threads that sleep between loops -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libgomp's helpers stay awake for milliseconds after a loop, at the expense of
// other devices' threads and of other programs. These sleep soon. A thread that
// is awake takes the next range, so that a helper that the system wakes late,
// or whose CPU another program has, delays no other; and one that loses its CPU
// within a range is called to the CPU of the thread that waits for it, which
// would be idle otherwise.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_SLEEPING_TEAM_H
#define RUNTIME_DEVICE_CPU_SLEEPING_TEAM_H

#include "runtime/core/wait.h"
#include "runtime/device/cpu/loop.h"
#include <ctime>
#include <memory>
#include <thread>
#include <vector>

namespace dist::cpu {

class SleepingTeam {
public:
  /// `threads` with the one that runs the loops; less than 2: it alone. They
  /// stay awake for `spinMicroseconds` between two loops.
  /// Throws std::system_error when there are no threads to be had.
  explicit SleepingTeam(int threads, int spinMicroseconds = 5);
  ~SleepingTeam();
  SleepingTeam(const SleepingTeam &) = delete;
  SleepingTeam &operator=(const SleepingTeam &) = delete;

  /// Binds helper i to seats[i] (cpus.h), from its next loop on; the first seat
  /// is of the thread that runs the loops, which is not bound but goes there.
  /// The system would wake helpers where that thread is when another program
  /// has their CPU. Null: they may be where the process may.
  void sit(const int *seats);

  /// Returns when all ranges have run. One thread calls it, and no kernel of
  /// its own does.
  void run(const Loop &newLoop);

private:
  static constexpr int noSeat = -1;
  struct Helper {
    std::thread thread;
    std::atomic<int> seat{noSeat};
    std::atomic<int> id{0}; // the system's; 0: it has not begun
    std::atomic<clockid_t> clock{0};
    /// Bound to the CPU of who waits for it, which it must leave again.
    std::atomic<bool> called{false};
    std::atomic<bool> inRange{false};
    int64_t cpuTime = 0; // when it was looked at last
  };

  void stop();
  void help(Helper &helper, int index);
  void runRanges(uint32_t number, int own, Helper *helper);
  /// Behind the ranges of the loop that are a thread's.
  int64_t endOf(int64_t thread) const {
    return (thread + 1) * loop.chunks / int64_t(portions.size());
  }
  void waitForHelpers();
  /// Whether one that is in a range has not had a CPU for `elapsed`, since it
  /// was looked at last; calls it here.
  bool callStalled(WaitPoint::Clock::duration elapsed);

  int spinMicroseconds;
  Loop loop; // stays as it is while `unfinished` is not 0
  struct alignas(64) Portion {
    /// Ranges that are not taken yet, below; above them the loop's number,
    /// so that no thread takes one of a loop it has not begun.
    std::atomic<uint64_t> untaken{0};
  };
  std::vector<Portion> portions; // by thread
  std::atomic<uint32_t> loopNumber{0};
  std::atomic<int32_t> unfinished{0};
  std::atomic<bool> stopping{false};
  int ownSeat = noSeat;
  WaitPoint work, done;
  std::vector<std::unique_ptr<Helper>> helpers;
};

} // namespace dist::cpu

#endif // RUNTIME_DEVICE_CPU_SLEEPING_TEAM_H
