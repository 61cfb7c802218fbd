//===- sleeping_team_test.cpp - Threads that sleep between loops ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/sleeping_team.h"
#include "runtime/device/cpu/team.h"
#include <csignal>
#include <ctime>
#include <pthread.h>
#include <gtest/gtest.h>
#include <set>

using namespace dist;
using cpu::SleepingTeam;

namespace {

/// What a loop's ranges leave behind, each at its own place.
struct Record {
  explicit Record(int32_t chunks) : runs(chunks), lo(chunks), hi(chunks) {}
  std::vector<std::atomic<int>> runs;
  std::vector<int64_t> lo, hi;

  static void kernel(void **buffers, int64_t lo, int64_t hi, int64_t chunk) {
    Record &record = *static_cast<Record *>(buffers[0]);
    record.runs[chunk].fetch_add(1);
    record.lo[chunk] = lo;
    record.hi[chunk] = hi;
  }
};

// As many threads as ranges, fewer and more.
TEST(SleepingTeam, RunsEachRangeOnce) {
  for (int threads : {0, 1, 2, 5}) {
    SleepingTeam team(threads);
    for (int64_t n : {0, 1, 5, 1000})
      for (int32_t chunks : {0, 1, 2, 5, 64}) {
        Record record(chunks);
        void *buffers[] = {&record};
        team.run({Record::kernel, buffers, n, chunks});
        int64_t next = 0;
        for (int32_t chunk = 0; chunk < chunks; ++chunk) {
          EXPECT_EQ(record.runs[chunk].load(), 1);
          EXPECT_EQ(record.lo[chunk], next);
          next = record.hi[chunk];
        }
        EXPECT_EQ(next, chunks ? n : 0);
      }
  }
}

// Each loop sees what those before it have written, whoever ran their ranges.
TEST(SleepingTeam, ManyLoopsOneAfterAnother) {
  SleepingTeam team(4);
  constexpr int64_t n = 257;
  std::vector<int64_t> now(n, 1), next(n);
  constexpr int loops = 20000;
  for (int i = 0; i < loops; ++i) {
    void *buffers[] = {now.data(), next.data()};
    auto rotate = [](void **buffers, int64_t lo, int64_t hi, int64_t) {
      auto *from = static_cast<int64_t *>(buffers[0]);
      auto *to = static_cast<int64_t *>(buffers[1]);
      for (int64_t j = lo; j < hi; ++j)
        to[j] = from[(j + 1) % n] + 1;
    };
    team.run({rotate, buffers, n, 1 + i % 7});
    now.swap(next);
  }
  EXPECT_EQ(now, std::vector<int64_t>(n, loops + 1));
}

// A range that waits for another one runs beside it: helpers do help, also
// after a sleep.
TEST(SleepingTeam, RangesRunSideBySide) {
  SleepingTeam team(2);
  for (int step = 0; step < 3; ++step) {
    std::atomic<int> arrived{0};
    void *buffers[] = {&arrived};
    auto meet = [](void **buffers, int64_t, int64_t, int64_t) {
      auto &arrived = *static_cast<std::atomic<int> *>(buffers[0]);
      arrived.fetch_add(1);
      while (arrived.load() < 2)
        std::this_thread::yield();
    };
    team.run({meet, buffers, 2, 2});
    EXPECT_EQ(arrived.load(), 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// Two ranges that wait for each other: nobody can take the other one's instead.
TEST(SleepingTeam, EachThreadBeginsWithItsOwnRanges) {
  SleepingTeam team(2);
  struct {
    std::atomic<int> arrived{0};
    std::thread::id threads[2];
  } both;
  auto meet = [](void **buffers, int64_t, int64_t, int64_t chunk) {
    auto &record = *reinterpret_cast<decltype(both) *>(buffers);
    record.threads[chunk] = std::this_thread::get_id();
    record.arrived.fetch_add(1);
    while (record.arrived.load() < 2)
      std::this_thread::yield();
  };
  for (int loop = 0; loop < 100; ++loop) {
    both.arrived.store(0);
    team.run({meet, reinterpret_cast<void **>(&both), 2, 2});
    EXPECT_EQ(both.threads[0], std::this_thread::get_id());
    EXPECT_NE(both.threads[1], std::this_thread::get_id());
  }
}

/// Holds a thread where it is, as a system that has no CPU for it.
class Held {
public:
  explicit Held(pthread_t thread) {
    struct sigaction action = {};
    action.sa_handler = [](int) {
      holding.store(true);
      while (!released.load())
        ;
    };
    sigaction(SIGUSR1, &action, &before);
    holding.store(false);
    released.store(false);
    pthread_kill(thread, SIGUSR1);
    while (!holding.load())
      std::this_thread::yield();
  }
  ~Held() {
    released.store(true);
    sigaction(SIGUSR1, &before, nullptr);
  }

private:
  static inline std::atomic<bool> holding, released;
  struct sigaction before;
};

// Its ranges are done by the others, and the loops end without it.
TEST(SleepingTeam, AStalledHelperHoldsUpNoLoop) {
  SleepingTeam team(2);
  // Two ranges that wait for each other have a thread each.
  struct {
    std::atomic<int> arrived{0};
    pthread_t threads[2];
  } both;
  auto meet = [](void **buffers, int64_t, int64_t, int64_t chunk) {
    auto &record = *reinterpret_cast<decltype(both) *>(buffers);
    record.threads[chunk] = pthread_self();
    record.arrived.fetch_add(1);
    while (record.arrived.load() < 2)
      std::this_thread::yield();
  };
  team.run({meet, reinterpret_cast<void **>(&both), 2, 2});
  pthread_t own = pthread_self();
  pthread_t helper = both.threads[pthread_equal(both.threads[0], own) ? 1 : 0];
  Held held(helper);
  for (int loop = 0; loop < 100; ++loop) {
    Record record(64);
    void *buffers[] = {&record};
    team.run({Record::kernel, buffers, 1000, 64});
    for (auto &runs : record.runs)
      EXPECT_EQ(runs.load(), 1);
  }
}

double cpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

// libgomp's would burn the cores of others now.
TEST(SleepingTeam, SleepsBetweenLoops) {
  SleepingTeam team(8);
  Record record(8);
  void *buffers[] = {&record};
  team.run({Record::kernel, buffers, 8, 8});
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  double before = cpuSeconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(cpuSeconds() - before, 0.05);
}

TEST(SleepingTeam, EndsWithoutWork) {
  for (int i = 0; i < 200; ++i)
    SleepingTeam team(3);
}

// Whose chunks ran on which threads tells the teams apart.
std::set<std::thread::id> threadsOfLoop() {
  struct Ids {
    std::thread::id of[2];
  } ids;
  void *buffers[] = {&ids};
  cpu::parallelFor(
      [](void **buffers, int64_t, int64_t, int64_t chunk) {
        static_cast<Ids *>(buffers[0])->of[chunk] = std::this_thread::get_id();
      },
      buffers, 2, 2);
  return {ids.of[0], ids.of[1]};
}

// A team inside another one hides it; a team alone runs all in the caller.
TEST(TeamScope, LoopsRunOnTheInnermostTeam) {
  SleepingTeam alone(1), inner(1);
  std::set<std::thread::id> caller{std::this_thread::get_id()};
  cpu::TeamScope outside(2);
  std::set<std::thread::id> two = threadsOfLoop();
  EXPECT_EQ(two.size(), 2u);
  {
    cpu::TeamScope scope(2, &alone);
    EXPECT_EQ(threadsOfLoop(), caller);
    {
      cpu::TeamScope library(2);
      EXPECT_EQ(threadsOfLoop().size(), 2u);
      cpu::TeamScope nested(2, &inner);
      EXPECT_EQ(threadsOfLoop(), caller);
    }
    EXPECT_EQ(threadsOfLoop(), caller);
    // Of another thread it is not.
    std::thread([&] {
      cpu::TeamScope own(2);
      EXPECT_EQ(threadsOfLoop().size(), 2u);
    }).join();
  }
  EXPECT_EQ(threadsOfLoop().size(), 2u);
}

} // namespace
