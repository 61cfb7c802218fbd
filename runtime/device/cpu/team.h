//===- team.h - A device's team of threads ----------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN and generated loops share one team. It is our own (sleeping_team.h)
// where all that a program asks of the library is cut or small
// (library_parts.h), and for a mesh's host. Else it is libgomp's, which each
// device thread gets for itself. Its entry points are declared by hand, since
// clang's OpenMP would bring in a second runtime.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_TEAM_H
#define RUNTIME_DEVICE_CPU_TEAM_H

#include "runtime/abi/abi.h"

namespace dist::cpu {

class SleepingTeam;

/// Gives the calling thread a team of `threads` threads while it lives.
class TeamScope {
public:
  /// Generated loops run on `loops` where there is one. `seats` are a CPU for
  /// each thread (cpus.h), alive as long as this; null: the system's choice.
  explicit TeamScope(int threads, SleepingTeam *loops = nullptr,
                     const int *seats = nullptr);
  ~TeamScope();
  TeamScope(const TeamScope &) = delete;
  TeamScope &operator=(const TeamScope &) = delete;

private:
  int before;
  SleepingTeam *loopsBefore;
  const int *seatsBefore;
};

/// Brings the calling thread's team up, so that later nothing has to start.
void startTeam();
/// Whether that was done in the process that forked this one, which has none of
/// its threads: libgomp would wait for them.
bool isTeamLost();

/// Runs kernel(buffers, lo, hi, chunk) over [0, n) in exactly `chunks`
/// contiguous ranges on the calling thread's team.
void parallelFor(dist_rt_kernel kernel, void **buffers, int64_t n,
                 int32_t chunks);

/// Calls function(data) once on each thread of the calling thread's team that
/// runs the library's kernels (libgomp's).
void onEachThread(void (*function)(void *), void *data);

} // namespace dist::cpu

#endif // RUNTIME_DEVICE_CPU_TEAM_H
