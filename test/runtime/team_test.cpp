//===- team_test.cpp - Teams of threads and the threads of ranks ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/rank_threads.h"
#include "runtime/device/cpu/cpus.h"
#include "runtime/device/cpu/team.h"
#include "test/runtime/child.h"
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <mutex>
#include <sched.h>
#include <set>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

extern "C" int omp_get_max_threads(void);

using namespace dist;

namespace {

struct Range {
  int64_t lo = -1, hi = -1;
};

// Each range is given once, in order, without gaps; they differ by one at most.
TEST(ParallelFor, ExactRanges) {
  for (int threads : {1, 2, 3}) {
    cpu::TeamScope team(threads);
    for (int64_t n : {0, 1, 5, 64, 1000})
      for (int32_t chunks : {1, 2, 3, 7}) {
        std::vector<Range> ranges(chunks);
        std::atomic<int> calls{0};
        void *buffers[] = {ranges.data(), &calls};
        cpu::parallelFor(
            [](void **buffers, int64_t lo, int64_t hi, int64_t chunk) {
              static_cast<Range *>(buffers[0])[chunk] = {lo, hi};
              static_cast<std::atomic<int> *>(buffers[1])->fetch_add(1);
            },
            buffers, n, chunks);
        EXPECT_EQ(calls.load(), chunks);
        int64_t next = 0;
        for (const Range &range : ranges) {
          EXPECT_EQ(range.lo, next);
          EXPECT_GE(range.hi - range.lo, n / chunks);
          EXPECT_LE(range.hi - range.lo, n / chunks + 1);
          next = range.hi;
        }
        EXPECT_EQ(next, n);
      }
  }
}

TEST(TeamScope, LeavesTheCallersTeamAlone) {
  int before = omp_get_max_threads();
  {
    cpu::TeamScope team(before + 1);
    EXPECT_EQ(omp_get_max_threads(), before + 1);
    cpu::TeamScope inner(1);
    EXPECT_EQ(omp_get_max_threads(), 1);
  }
  EXPECT_EQ(omp_get_max_threads(), before);
}

TEST(UsableCpus, AreSomeAndDifferent) {
  std::vector<int> cpus = cpu::usableCpus();
  ASSERT_FALSE(cpus.empty());
  EXPECT_EQ(std::set<int>(cpus.begin(), cpus.end()).size(), cpus.size());
}

// A child process has none of the threads: it is told, instead of waiting.
TEST(RankThreads, OfAParentAreMissed) {
  auto fails = [](const Status &status, const char *part) {
    return status.code() == StatusCode::InvalidArgument &&
           status.message().find(part) != std::string::npos;
  };
  auto run = [](RankThreads &threads) { return threads.run([](int) {}); };
  RankThreads devices({1, 1}), team({2});
  EXPECT_TRUE(holdsInChild([&] {
    RankThreads one({1});
    return fails(run(devices), "threads (fork): other devices'") &&
           fails(run(team), "libgomp's are") &&
           fails(RankThreads({2}).status(), "libgomp's are") && run(one).ok();
  }));
  EXPECT_TRUE(run(devices).ok());
  EXPECT_TRUE(run(team).ok());
}

/// Limits the calling thread to `count` CPUs while it lives.
class Limited {
public:
  explicit Limited(int count) {
    sched_getaffinity(0, sizeof before, &before);
    cpu_set_t some;
    CPU_ZERO(&some);
    for (int cpu = 0; cpu < CPU_SETSIZE && count > 0; ++cpu)
      if (CPU_ISSET(cpu, &before)) {
        CPU_SET(cpu, &some);
        --count;
      }
    sched_setaffinity(0, sizeof some, &some);
  }
  ~Limited() { sched_setaffinity(0, sizeof before, &before); }

private:
  cpu_set_t before;
};

// Seats are all CPUs or none: who wants fewer leaves the choice to the system.
TEST(Seats, AreForThoseWhoWantAllCpus) {
  std::vector<int> cpus = cpu::usableCpus();
  int count = cpus.size();
  std::vector<int> seats = cpu::chooseSeats(count);
  if (!seats.empty()) {
    EXPECT_EQ(std::set<int>(seats.begin(), seats.end()),
              std::set<int>(cpus.begin(), cpus.end()));
  }
  EXPECT_TRUE(cpu::chooseSeats(count + 1).empty());
  EXPECT_TRUE(cpu::chooseSeats(1).empty());
  if (count < 2)
    GTEST_SKIP() << "one CPU has no second seat";
  Limited limited(2);
  EXPECT_EQ(cpu::chooseSeats(2).size(), 2);
  EXPECT_TRUE(cpu::chooseSeats(3).empty());
  Limited one(1);
  EXPECT_TRUE(cpu::chooseSeats(2).empty());
}

// Who sits down is on that CPU, and may still be moved.
TEST(Seats, MoveAThreadWithoutBindingIt) {
  cpu_set_t before, after;
  sched_getaffinity(0, sizeof before, &before);
  for (int cpu : cpu::usableCpus()) {
    bool seated = false;
    // The system may move it away again before it looks.
    for (int attempt = 0; attempt < 100 && !seated; ++attempt) {
      EXPECT_TRUE(cpu::sitOn(cpu));
      seated = sched_getcpu() == cpu;
    }
    EXPECT_TRUE(seated) << cpu;
  }
  sched_getaffinity(0, sizeof after, &after);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  // It cannot sit where the process may not run.
  Limited limited(1);
  int own = sched_getcpu();
  EXPECT_FALSE(cpu::sitOn(CPU_SETSIZE - 1));
  EXPECT_EQ(sched_getcpu(), own);
}

// All ranks run each job, rank 0 on the caller, each with its own team.
TEST(RankThreads, RunsAllRanks) {
  for (int ranks : {1, 2, 5}) {
    RankThreads threads(std::vector<int>(ranks, 2));
    std::vector<int> runs(ranks, 0), teams(ranks, 0);
    std::vector<std::thread::id> ids(ranks);
    for (int step = 0; step < 200; ++step)
      EXPECT_TRUE(threads
                      .run([&](int rank) {
                        ++runs[rank];
                        teams[rank] = omp_get_max_threads();
                        ids[rank] = std::this_thread::get_id();
                      })
                      .ok());
    EXPECT_EQ(runs, std::vector<int>(ranks, 200));
    EXPECT_EQ(teams, std::vector<int>(ranks, 2));
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(),
              size_t(ranks));
  }
}

// The host's loops are cut for all cores, the library's kernels for a device's.
TEST(RankThreads, GivesTheHostHelpersOfItsOwn) {
  std::atomic<int> most{0}, inside{0};
  std::vector<int> library(3, 0);
  RankThreads threads({2, 2, 4}, /*withHost=*/true);
  for (int step = 0; step < 20; ++step)
    EXPECT_TRUE(
        threads
            .run([&](int rank) {
              library[rank] = omp_get_max_threads();
              if (rank < 2)
                return;
              void *buffers[] = {&most, &inside};
              cpu::parallelFor(
                  [](void **buffers, int64_t, int64_t, int64_t) {
                    auto &most = *static_cast<std::atomic<int> *>(buffers[0]);
                    auto &inside = *static_cast<std::atomic<int> *>(buffers[1]);
                    int now = ++inside;
                    for (int known = most; known < now;)
                      most.compare_exchange_weak(known, now);
                    // Each waits for all four, which a team of fewer never has
                    // inside.
                    auto end = std::chrono::steady_clock::now() +
                               std::chrono::seconds(5);
                    while (most < 4 && std::chrono::steady_clock::now() < end)
                      std::this_thread::yield();
                    --inside;
                  },
                  buffers, 100, 4);
            })
            .ok());
  EXPECT_EQ(library, std::vector<int>(3, 2));
  EXPECT_EQ(most, 4);
}

// A rank that throws is an error of the run, and the next run is none.
TEST(RankThreads, TurnsExceptionsIntoErrors) {
  RankThreads threads({1, 1, 1});
  for (int bad = 0; bad < 3; ++bad) {
    Status status = threads.run([&](int rank) {
      if (rank == bad)
        throw std::bad_alloc();
    });
    EXPECT_EQ(status.code(), StatusCode::Unavailable);
    EXPECT_EQ(status.message(), "out of memory");
    EXPECT_TRUE(threads.run([](int) {}).ok());
  }
}

#ifndef DIST_SANITIZED
// Neither the ranks' own threads nor libgomp's, which would end the process.
TEST(RankThreads, SaysWhenThereAreNoThreadsLeft) {
  for (const std::vector<int> &threadsOfRank :
       {std::vector<int>(64, 1), std::vector<int>(1, 64)}) {
    // Of a thread that has had no threads of libgomp's yet.
    std::thread([&] {
      EXPECT_TRUE(holdsInChild([&] {
        // Room for a few stacks.
        rlimit limit{size_t(256) << 20, size_t(256) << 20};
        if (setrlimit(RLIMIT_AS, &limit) != 0)
          return false;
        RankThreads threads(threadsOfRank);
        return threads.status().code() == StatusCode::Unavailable &&
               threads.status().message().find("cannot start threads (") == 0;
      }));
    }).join();
  }
}
#endif

TEST(RankThreads, WakesFromSleep) {
  RankThreads threads({1, 1});
  std::atomic<int> runs{0};
  for (int step = 0; step < 3; ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(threads
                    .run([&](int rank) {
                      if (rank == 1) // the caller sleeps, too
                        std::this_thread::sleep_for(
                            std::chrono::milliseconds(20));
                      runs.fetch_add(1);
                    })
                    .ok());
    EXPECT_EQ(runs.load(), 2 * (step + 1));
  }
}

TEST(Cpus, SleepersWantNone) {
  EXPECT_TRUE(cpu::waitsForCpu(gettid()));
  std::atomic<int> sleeper{0};
  std::mutex held;
  std::unique_lock<std::mutex> lock(held);
  std::thread thread([&] {
    sleeper.store(gettid());
    std::lock_guard<std::mutex> wait(held);
  });
  while (sleeper.load() == 0 || cpu::waitsForCpu(sleeper.load()))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  lock.unlock();
  thread.join();
  EXPECT_FALSE(cpu::waitsForCpu(sleeper.load())) << "it is no more";
}

// A rank each for all CPUs; the last one is given the seat of the first. A rank
// that goes to its own seat, where another program runs, may be there only
// until it has run: that is when it wants another one.
struct GivenSeatTest : testing::TestWithParam<bool> {};

TEST_P(GivenSeatTest, IsThatOfARankThatWantsACpu) {
  int ranks = cpu::usableCpus().size();
  std::vector<int> seats = cpu::chooseSeats(ranks);
  if (seats.empty())
    GTEST_SKIP() << "no CPU is the process's own";
  RankThreads threads(std::vector<int>(ranks, 1));
  std::atomic<int> working{0};
  std::atomic<bool> over{false};
  bool gave = false;
  // The system may move it at once, but not each time.
  auto findsSeat = [&](int rank, int cpu) {
    for (int attempt = 0; attempt < 1000; ++attempt) {
      threads.sit(rank);
      if (sched_getcpu() == cpu)
        return true;
    }
    return false;
  };
  auto first = [&] {
    working.store(1);
    while (working.load() == 1)
      std::this_thread::yield();
    gave = threads.giveSeat(0, ranks - 1);
    over.store(true);
    EXPECT_TRUE(findsSeat(0, seats.back()));
  };
  auto last = [&] {
    while (working.load() == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (GetParam()) {
      ASSERT_TRUE(cpu::bindTo(seats.back()));
    }
    working.store(2);
    while (!over.load())
      ;
    cpu_set_t cpus = cpu::ownCpus();
    EXPECT_EQ(CPU_COUNT(&cpus), ranks) << "it may leave the seat again";
    EXPECT_TRUE(findsSeat(ranks - 1, seats.front()));
  };
  ASSERT_TRUE(threads
                  .run([&](int rank) {
                    if (rank == 0)
                      first();
                    else if (rank == ranks - 1)
                      last();
                  })
                  .ok());
  EXPECT_TRUE(gave);
  // Nobody works any more.
  EXPECT_FALSE(threads.giveSeat(0, ranks - 1));
}

INSTANTIATE_TEST_SUITE_P(Cases, GivenSeatTest, testing::Bool());

// A team of several threads has its seats for itself.
TEST(RankThreads, TeamsKeepTheirSeats) {
  RankThreads threads({2, 2});
  std::atomic<bool> over{false};
  bool gave = true;
  ASSERT_TRUE(threads
                  .run([&](int rank) {
                    if (rank == 0) {
                      gave = threads.giveSeat(0, 1);
                      over.store(true);
                    }
                    while (!over.load())
                      ;
                  })
                  .ok());
  EXPECT_FALSE(gave);
}

} // namespace
