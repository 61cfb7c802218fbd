//===- rank_threads.cpp - The threads of a session's ranks ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/rank_threads.h"
#include "runtime/device/cpu/team.h"

namespace dist {

namespace {
/// Between two steps the host does little; sleeping there would add a wake-up
/// to each.
constexpr int spinBetweenSteps = 100;
constexpr auto never = WaitPoint::Clock::time_point::max();
} // namespace

RankThreads::RankThreads(const std::vector<int> &threadsOfRank, bool withHost)
    : threadsOfRank(threadsOfRank), ranks(threadsOfRank.size()),
      withHost(withHost) {
  int64_t busy = 0;
  for (int rank = 0; rank < ranks - withHost; ++rank)
    busy += threadsOfRank[rank];
  roomy = busy <= static_cast<int64_t>(cpu::usableCpus().size());
  for (int rank = 1; rank < ranks; ++rank)
    threads.emplace_back([this, rank] { loop(rank); });
}

RankThreads::~RankThreads() {
  stopping.store(true);
  start.notify();
  for (std::thread &thread : threads)
    thread.join();
}

void RankThreads::loop(int rank) {
  cpu::TeamScope team(threadsOfRank[rank]);
  uint64_t seen = 0;
  while (true) {
    start.wait([&] { return generation.load() != seen || stopping.load(); },
               never, roomy && !withHost ? spinBetweenSteps : 0);
    if (stopping.load())
      return;
    ++seen;
    job(rank, data);
    if (running.fetch_sub(1) == 1)
      done.notify();
    if (withHost && rank == ranks - 1)
      cpu::dismissTeam();
  }
}

void RankThreads::run(void (*newJob)(int, void *), void *newData) {
  cpu::TeamScope team(threadsOfRank[0]);
  if (ranks > 1) {
    job = newJob;
    data = newData;
    running.store(ranks - 1);
    generation.fetch_add(1);
    start.notify();
  }
  newJob(0, newData);
  if (ranks > 1)
    // What the host does last it does with all cores.
    done.wait([&] { return running.load() == 0; }, never,
              withHost ? 0 : spinMicroseconds());
}

} // namespace dist
