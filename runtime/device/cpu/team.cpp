//===- team.cpp - A device's team of threads ------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/team.h"
#include "runtime/device/cpu/cpus.h"
#include "runtime/device/cpu/loop.h"
#include "runtime/device/cpu/sleeping_team.h"
#include <algorithm>
#include <unistd.h>

extern "C" {
void GOMP_parallel(void (*function)(void *), void *data, unsigned threads,
                   unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}

namespace dist::cpu {

namespace {
/// Runs the calling thread's loops; null: libgomp does.
thread_local SleepingTeam *loopTeam = nullptr;
/// The seats of the calling thread's team; null: it has none.
thread_local const int *teamSeats = nullptr;
} // namespace

TeamScope::TeamScope(int threads, SleepingTeam *loops, const int *seats)
    : before(omp_get_max_threads()), loopsBefore(loopTeam),
      seatsBefore(teamSeats) {
  if (threads != before)
    omp_set_num_threads(threads);
  loopTeam = loops;
  teamSeats = seats;
}

TeamScope::~TeamScope() {
  if (omp_get_max_threads() != before)
    omp_set_num_threads(before);
  loopTeam = loopsBefore;
  teamSeats = seatsBefore;
}

namespace {

struct SeatedLoop {
  const Loop &loop;
  const int *seats;
};

void runShare(void *data) {
  auto [loop, seats] = *static_cast<const SeatedLoop *>(data);
  if (seats)
    sitOn(seats[omp_get_thread_num()]);
  // Usually one range a thread; the team may be smaller than asked for.
  int step = omp_get_num_threads();
  for (int chunk = omp_get_thread_num(); chunk < loop.chunks; chunk += step)
    loop.run(chunk);
}

} // namespace

static thread_local pid_t startedIn = 0;

void startTeam() {
  if (omp_get_max_threads() > 1)
    startedIn = getpid();
  GOMP_parallel([](void *) {}, nullptr, omp_get_max_threads(), 0);
}

bool isTeamLost() { return startedIn != 0 && startedIn != getpid(); }

void parallelFor(dist_rt_kernel kernel, void **buffers, int64_t n,
                 int32_t chunks) {
  if (chunks <= 1) {
    kernel(buffers, 0, n, 0);
    return;
  }
  Loop loop{kernel, buffers, n, chunks};
  if (loopTeam) {
    loopTeam->run(loop);
    return;
  }
  if (omp_get_max_threads() == 1) {
    for (int32_t chunk = 0; chunk < chunks; ++chunk)
      loop.run(chunk);
    return;
  }
  SeatedLoop seated{loop, teamSeats};
  GOMP_parallel(runShare, &seated, std::min(chunks, omp_get_max_threads()), 0);
}

void onEachThread(void (*function)(void *), void *data) {
  int threads = omp_get_max_threads();
  if (threads <= 1)
    function(data);
  else
    GOMP_parallel(function, data, threads, 0);
}

} // namespace dist::cpu
