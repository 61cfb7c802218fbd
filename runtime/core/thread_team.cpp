//===- thread_team.cpp - Threads that sessions share ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/thread_team.h"
#include "runtime/device/cpu/sleeping_team.h"

namespace dist {

static constexpr auto never = WaitPoint::Clock::time_point::max();

ThreadTeam::ThreadTeam() = default;

ThreadTeam::~ThreadTeam() {
  stopping.store(true);
  begun.notify();
  for (std::thread &thread : threads)
    thread.join();
}

void ThreadTeam::grow(int workers) {
  std::lock_guard<std::mutex> lock(turn);
  while (int(threads.size()) < workers)
    threads.emplace_back(
        [this, index = int(threads.size()) + 1] { loop(index); });
}

cpu::SleepingTeam *ThreadTeam::helpersOf(int rank, int threads,
                                         int spinMicroseconds) {
  std::lock_guard<std::mutex> lock(turn);
  auto &found = helpers[{rank, threads, spinMicroseconds}];
  if (!found)
    found = std::make_unique<cpu::SleepingTeam>(threads, spinMicroseconds);
  return found.get();
}

void ThreadTeam::loop(int index) {
  // A thread that is not of a run may miss it whole; one that is of it ends it
  // before the next can begin. So the runs before the first seen are no matter.
  uint64_t seen = 0;
  while (true) {
    begun.wait([&] { return current.load() != seen || stopping.load(); }, never,
               spinBetween.load());
    if (stopping.load())
      return;
    seen = current.load();
    if (index >= countOf(seen))
      continue;
    job(index, data);
    if (running.fetch_sub(1) == 1)
      done.notify();
  }
}

void ThreadTeam::run(int count, void (*newJob)(int, void *), void *newData,
                     Spin spin) {
  std::lock_guard<std::mutex> lock(turn);
  job = newJob;
  data = newData;
  if (count > 1) {
    spinBetween.store(spin.between);
    running.store(count - 1);
    current.store(join(++runs, count));
    begun.notify();
  }
  newJob(0, newData);
  if (count > 1)
    done.wait([&] { return running.load() == 0; }, never, spin.inRun);
}

} // namespace dist
