//===- team.cpp - A device's team of threads ------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/team.h"
#include "runtime/device/cpu/loop.h"
#include "runtime/device/cpu/sleeping_team.h"
#include <algorithm>
#include <cstdio>
#include <sched.h>
#ifdef DIST_THREAD_SANITIZER
#include <thread>
#endif

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
} // namespace

TeamScope::TeamScope(int threads, SleepingTeam *loops)
    : before(omp_get_max_threads()), loopsBefore(loopTeam) {
  if (threads != before)
    omp_set_num_threads(threads);
  loopTeam = loops;
}

TeamScope::~TeamScope() {
  if (omp_get_max_threads() != before)
    omp_set_num_threads(before);
  loopTeam = loopsBefore;
}

namespace {
#ifndef DIST_THREAD_SANITIZER
void runShare(void *data) {
  const Loop &loop = *static_cast<const Loop *>(data);
  // Usually one range a thread; the team may be smaller than asked for.
  int step = omp_get_num_threads();
  for (int chunk = omp_get_thread_num(); chunk < loop.chunks; chunk += step)
    loop.run(chunk);
}
#endif
} // namespace

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
#ifdef DIST_THREAD_SANITIZER
  // libgomp's joins look like races to the sanitizer.
  std::vector<std::thread> threads;
  for (int32_t chunk = 1; chunk < chunks; ++chunk)
    threads.emplace_back([&loop, chunk] { loop.run(chunk); });
  loop.run(0);
  for (std::thread &thread : threads)
    thread.join();
#else
  GOMP_parallel(runShare, &loop, std::min(chunks, omp_get_max_threads()), 0);
#endif
}

std::vector<int> usableCpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set))
        cpus.push_back(cpu);
  if (cpus.empty())
    cpus.push_back(0);
  // A container's quota: "max 100000", or microseconds of each period.
  if (std::FILE *file = std::fopen("/sys/fs/cgroup/cpu.max", "re")) {
    long long quota = 0, period = 0;
    if (std::fscanf(file, "%lld %lld", &quota, &period) == 2 && quota > 0 &&
        period > 0) {
      size_t count = std::max<long long>(1, (quota + period - 1) / period);
      if (count < cpus.size())
        cpus.resize(count);
    }
    std::fclose(file);
  }
  return cpus;
}

} // namespace dist::cpu
