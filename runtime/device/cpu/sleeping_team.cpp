//===- sleeping_team.cpp - Threads that sleep between loops ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/sleeping_team.h"
#include "runtime/device/cpu/cpus.h"
#include <algorithm>
#include <sched.h>
#include <unistd.h>

namespace dist::cpu {

namespace {
using Clock = WaitPoint::Clock;
constexpr auto never = Clock::time_point::max();
/// For ranges that end a little later than the last one here.
constexpr auto shortWait = std::chrono::microseconds(15);

constexpr uint32_t countRanges(uint64_t untaken) { return uint32_t(untaken); }

int64_t readCpuTime(clockid_t clock) {
  timespec time;
  if (clock_gettime(clock, &time) != 0)
    return 0;
  return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}
} // namespace

SleepingTeam::SleepingTeam(int threads, int spinMicroseconds)
    : spinMicroseconds(spinMicroseconds), portions(std::max(1, threads)) {
  try {
    for (int i = 1; i < threads; ++i) {
      helpers.push_back(std::make_unique<Helper>());
      Helper &helper = *helpers.back();
      helper.thread = std::thread([this, &helper, i] { help(helper, i); });
    }
  } catch (...) {
    stop();
    throw;
  }
}

SleepingTeam::~SleepingTeam() { stop(); }

void SleepingTeam::stop() {
  stopping.store(true);
  work.notify();
  for (auto &helper : helpers)
    if (helper->thread.joinable())
      helper->thread.join();
}

void SleepingTeam::help(Helper &helper, int index) {
  clockid_t clock;
  if (pthread_getcpuclockid(pthread_self(), &clock) == 0) {
    helper.clock.store(clock);
    helper.id.store(gettid());
  }
  cpu_set_t everywhere;
  sched_getaffinity(0, sizeof everywhere, &everywhere);
  int seat = noSeat;
  while (!stopping.load()) {
    int now = helper.seat.load();
    if (helper.called.exchange(false) || now != seat) {
      seat = now;
      if (!bindTo(seat))
        sched_setaffinity(0, sizeof everywhere, &everywhere);
    }
    uint32_t last = loopNumber.load();
    runRanges(last, index, &helper);
    work.wait([&] { return loopNumber.load() != last || stopping.load(); },
              never, spinMicroseconds);
  }
}

void SleepingTeam::runRanges(uint32_t number, int own, Helper *helper) {
  int threads = portions.size();
  // Its own, which lie where it has lain before; then those of who is late.
  for (int i = 0; i < threads; ++i) {
    int owner = own + i < threads ? own + i : own + i - threads;
    std::atomic<uint64_t> &untaken = portions[owner].untaken;
    uint64_t seen = untaken.load();
    // Of the next loop it begins with its own again.
    while (seen >> 32 == number && countRanges(seen) > 0) {
      // Before the range is taken: who waits for it looks here.
      if (helper)
        helper->inRange.store(true);
      if (!untaken.compare_exchange_weak(seen, seen - 1))
        continue;
      // The loop ends with the range just taken at the earliest.
      loop.run(endOf(owner) - int64_t(countRanges(seen)));
      if (unfinished.fetch_sub(1) == 1)
        done.notify();
      seen = untaken.load();
    }
  }
  if (helper)
    helper->inRange.store(false);
}

bool SleepingTeam::callStalled(Clock::duration elapsed) {
  auto least =
      std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count() / 4;
  bool called = false;
  for (auto &helper : helpers) {
    int id = helper->id.load();
    if (id == 0 || !helper->inRange.load())
      continue;
    int64_t cpuTime = readCpuTime(helper->clock.load());
    bool stalled = cpuTime - helper->cpuTime < least;
    helper->cpuTime = cpuTime;
    if (!stalled || elapsed == elapsed.zero())
      continue;
    // Before it is bound: it unbinds itself when it sees this.
    helper->called.store(true);
    called |= bindTo(sched_getcpu(), id);
  }
  return called;
}

void SleepingTeam::waitForHelpers() {
  auto over = [&] { return unfinished.load() == 0; };
  if (over() || done.spin(over, shortWait.count()))
    return;
  Clock::time_point last = Clock::now();
  callStalled(Clock::duration::zero());
  while (!done.spin(over, shortWait.count())) {
    Clock::time_point now = Clock::now();
    if (callStalled(now - last)) {
      // The CPU is its now.
      done.wait(over, never, 0);
      return;
    }
    last = now;
  }
}

void SleepingTeam::sit(const int *seats) {
  ownSeat = seats ? seats[0] : noSeat;
  for (size_t i = 0; i < helpers.size(); ++i)
    helpers[i]->seat.store(seats ? seats[i + 1] : noSeat);
}

void SleepingTeam::run(const Loop &newLoop) {
  if (newLoop.chunks < 1)
    return;
  if (ownSeat != noSeat)
    sitOn(ownSeat);
  if (newLoop.chunks == 1 || portions.size() == 1) {
    for (int32_t chunk = 0; chunk < newLoop.chunks; ++chunk)
      newLoop.run(chunk);
    return;
  }
  loop = newLoop;
  unfinished.store(loop.chunks);
  uint32_t number = loopNumber.load() + 1;
  for (size_t i = 0; i < portions.size(); ++i)
    portions[i].untaken.store(uint64_t(number) << 32 |
                              uint32_t(endOf(i) - (i ? endOf(i - 1) : 0)));
  loopNumber.store(number);
  work.notify();
  runRanges(number, 0, nullptr);
  waitForHelpers();
}

} // namespace dist::cpu
