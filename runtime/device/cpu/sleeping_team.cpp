//===- sleeping_team.cpp - Threads that sleep between loops ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/sleeping_team.h"

namespace dist::cpu {

namespace {
/// Between two loops of one step, and for ranges that end a little later.
constexpr int spinMicroseconds = 5;
constexpr auto never = WaitPoint::Clock::time_point::max();

constexpr uint32_t countRanges(uint64_t untaken) { return uint32_t(untaken); }
constexpr uint64_t nextLoop(uint64_t untaken, int32_t chunks) {
  return ((untaken >> 32) + 1) << 32 | uint32_t(chunks);
}
} // namespace

SleepingTeam::SleepingTeam(int threads) {
  try {
    for (int i = 1; i < threads; ++i)
      helpers.emplace_back([this] { help(); });
  } catch (...) {
    stop();
    throw;
  }
}

SleepingTeam::~SleepingTeam() { stop(); }

void SleepingTeam::stop() {
  stopping.store(true);
  work.notify();
  for (std::thread &helper : helpers)
    helper.join();
}

void SleepingTeam::help() {
  while (!stopping.load()) {
    runRanges();
    work.wait(
        [&] { return countRanges(untaken.load()) > 0 || stopping.load(); },
        never, spinMicroseconds);
  }
}

void SleepingTeam::runRanges() {
  uint64_t seen = untaken.load();
  while (countRanges(seen) > 0) {
    if (!untaken.compare_exchange_weak(seen, seen - 1))
      continue;
    // The loop ends with the range just taken at the earliest.
    loop.run(loop.chunks - int64_t(countRanges(seen)));
    if (unfinished.fetch_sub(1) == 1)
      done.notify();
    seen = untaken.load();
  }
}

void SleepingTeam::run(const Loop &newLoop) {
  if (newLoop.chunks < 1)
    return;
  loop = newLoop;
  unfinished.store(loop.chunks);
  untaken.store(nextLoop(untaken.load(), loop.chunks));
  if (loop.chunks > 1)
    work.notify();
  runRanges();
  done.wait([&] { return unfinished.load() == 0; }, never, spinMicroseconds);
}

} // namespace dist::cpu
