//===- sleeping_team.h - Threads that sleep between loops -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libgomp's helpers stay awake for milliseconds after a loop, at the expense of
// other devices' threads. A rank that computes while these wait has helpers
// that sleep at once. Who is awake takes the next range, so that a helper whom
// the system wakes late delays nobody.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_SLEEPING_TEAM_H
#define RUNTIME_DEVICE_CPU_SLEEPING_TEAM_H

#include "runtime/core/wait.h"
#include "runtime/device/cpu/loop.h"
#include <thread>
#include <vector>

namespace dist::cpu {

class SleepingTeam {
public:
  /// `threads` with the one that runs the loops; less than 2: it alone.
  /// Throws std::system_error when there are no threads to be had.
  explicit SleepingTeam(int threads);
  ~SleepingTeam();
  SleepingTeam(const SleepingTeam &) = delete;
  SleepingTeam &operator=(const SleepingTeam &) = delete;

  /// Returns when all ranges have run. One thread calls it, and no kernel of
  /// its own does.
  void run(const Loop &newLoop);

private:
  void stop();
  void help();
  void runRanges();

  Loop loop; // stays as it is while `unfinished` is not 0
  /// Ranges that nobody has taken yet, below; above them the loop's number, so
  /// that nobody takes one of a loop it has not seen.
  std::atomic<uint64_t> untaken{0};
  std::atomic<int32_t> unfinished{0};
  std::atomic<bool> stopping{false};
  WaitPoint work, done;
  std::vector<std::thread> helpers;
};

} // namespace dist::cpu

#endif // RUNTIME_DEVICE_CPU_SLEEPING_TEAM_H
