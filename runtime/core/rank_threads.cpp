//===- rank_threads.cpp - The threads of a session's ranks ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/rank_threads.h"
#include "runtime/device/cpu/cpus.h"
#include "runtime/device/cpu/sleeping_team.h"
#include "runtime/device/cpu/team.h"
#include <optional>

namespace dist {

namespace {
/// Between two steps the app does little; sleeping there would add a wake-up to
/// each.
constexpr int spinBetweenSteps = 100;
constexpr int spinInStep = 1000;
/// What a mesh's host does it does on the cores of those that wait for it.
constexpr int spinForHost = 20;
constexpr auto never = WaitPoint::Clock::time_point::max();
} // namespace

RankThreads::RankThreads(const std::vector<int> &threadsOfRank, bool withHost)
    : threadsOfRank(threadsOfRank), ranks(threadsOfRank.size()),
      withHost(withHost) {
  int64_t busy = 0;
  for (int rank = 0; rank < ranks - withHost; ++rank) {
    firstSeat.push_back(busy);
    busy += threadsOfRank[rank];
  }
  int64_t cpus = cpu::usableCpus().size();
  roomy = busy <= cpus;
  roomyWithHost = !withHost || busy + threadsOfRank.back() <= cpus;
  seats = cpu::chooseSeats(busy);
  for (int rank = 1; rank < ranks; ++rank)
    threads.emplace_back([this, rank] { loop(rank); });
}

RankThreads::~RankThreads() {
  stopping.store(true);
  start.notify();
  for (std::thread &thread : threads)
    thread.join();
}

const int *RankThreads::seatsOf(int rank) const {
  return seats.empty() || isHost(rank) ? nullptr : &seats[firstSeat[rank]];
}

void RankThreads::runJob(int rank, cpu::SleepingTeam *loops) {
  const int *own = seated ? seatsOf(rank) : nullptr;
  if (own)
    cpu::sitOn(*own);
  // The library's kernels are made for the threads of a device; the host's
  // loops are cut for those of all.
  cpu::TeamScope team(threadsOfRank[loops ? 0 : rank], loops, own);
  job(rank, data);
}

void RankThreads::loop(int rank) {
  std::optional<cpu::SleepingTeam> loops;
  if (isHost(rank))
    loops.emplace(threadsOfRank[rank]);
  uint64_t seen = 0;
  while (true) {
    start.wait([&] { return generation.load() != seen || stopping.load(); },
               never, std::min(spinBetweenSteps, spinForAll()));
    if (stopping.load())
      return;
    ++seen;
    runJob(rank, loops ? &*loops : nullptr);
    if (running.fetch_sub(1) == 1)
      done.notify();
  }
}

void RankThreads::run(void (*newJob)(int, void *), void *newData) {
  job = newJob;
  data = newData;
  // Others that sit down where the caller must stay would be in its way.
  const int *own = seatsOf(0);
  seated = own && cpu::sitOn(*own);
  if (ranks > 1) {
    running.store(ranks - 1);
    generation.fetch_add(1);
    start.notify();
  }
  runJob(0, nullptr);
  if (ranks > 1)
    done.wait([&] { return running.load() == 0; }, never, spinForAll());
}

int RankThreads::spinMicroseconds() const { return roomy ? spinInStep : 0; }

int RankThreads::spinForAll() const {
  return roomyWithHost ? spinMicroseconds()
                       : std::min(spinForHost, spinMicroseconds());
}

} // namespace dist
