//===- started_test.cpp - Collectives beside a rank's own work ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/local.h"
#include "runtime/core/started.h"
#include <atomic>
#include <gtest/gtest.h>

namespace dist {
namespace {

/// Ranks of a world, each with its started collectives.
class StartedTest : public testing::Test {
protected:
  std::unique_ptr<LocalWorld> world;
  std::vector<StartedCollectives> started;
  std::vector<std::vector<std::unique_ptr<CollectivePlan>>> plans;

  void open(int ranks, double timeout) {
    WorldOptions options;
    options.mesh = {ranks};
    options.timeout = timeout;
    open(options);
  }
  void open(WorldOptions options) {
    options.spinMicroseconds = 0;
    ASSERT_TRUE(LocalWorld::create(options, &world).ok());
    started = std::vector<StartedCollectives>(world->ranks());
    plans.resize(world->ranks());
  }
  /// Prepares it for this test, and starts it.
  Status start(int rank, const Collective &call, void *from, void *to) {
    uint64_t number = 0;
    std::unique_ptr<CollectivePlan> plan;
    Communicator &own = world->rank(rank);
    DIST_RETURN_IF_ERROR(own.prepare(call, &plan));
    plans[rank].push_back(std::move(plan));
    return started[rank].start(own, *plans[rank].back(), &from, &to, &number);
  }
  void onRanks(const std::function<void(int)> &body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < world->ranks(); ++rank)
      threads.emplace_back(body, rank);
    for (std::thread &thread : threads)
      thread.join();
  }
};

/// The sum of `count` numbers as transfer `op`, in place.
struct Sum : DenseCollective {
  explicit Sum(int32_t op, int64_t count, uint32_t axes = 1)
      : DenseCollective(CollectiveKind::AllReduce, op, axes, manifest::I32,
                        4 * count) {}
};

TEST_F(StartedTest, RunsInOrderAndBeside) {
  open(3, 20);
  onRanks([&](int rank) {
    // More than are in flight at once; small and large by turns.
    std::vector<std::unique_ptr<Sum>> sums;
    std::vector<std::vector<int32_t>> data;
    for (int i = 0; i < 150; ++i) {
      sums.push_back(std::make_unique<Sum>(i, i % 2 ? 3000 : 1));
      data.emplace_back(i % 2 ? 3000 : 1, i + rank);
    }
    for (int i = 0; i < 150; ++i) {
      void *buffer = data[i].data();
      ASSERT_TRUE(start(rank, sums[i]->call, buffer, buffer).ok());
    }
    for (int i = 0; i < 150; ++i) { // the first ones are long done
      Status status = started[rank].wait(*plans[rank][i], i + 1);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(data[i].back(), 3 * i + 3);
    }
    EXPECT_TRUE(started[rank].isIdle(*plans[rank].back()));
  });
}

// The same plan again, as each step has it: the last start counts.
TEST_F(StartedTest, StartsAgain) {
  open(2, 20);
  onRanks([&](int rank) {
    Sum sum(7, 2000);
    Communicator &own = world->rank(rank);
    std::unique_ptr<CollectivePlan> plan;
    ASSERT_TRUE(own.prepare(sum.call, &plan).ok());
    for (int step = 0; step < 100; ++step) {
      std::vector<int32_t> data(2000, step + rank);
      void *buffer = data.data();
      uint64_t number = 0;
      ASSERT_TRUE(
          started[rank].start(own, *plan, &buffer, &buffer, &number).ok());
      Status status = started[rank].wait(*plan, number);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(data.front(), 2 * step + 1);
      ASSERT_EQ(data.back(), 2 * step + 1);
    }
  });
}

thread_local bool hasTeam = false;
std::atomic<int> teamsMisused;

void onTeam(dist_rt_kernel kernel, void **buffers, int64_t n, int32_t chunks) {
  teamsMisused += !hasTeam;
  for (int32_t i = 0; i < chunks; ++i)
    kernel(buffers, n * i / chunks, n * (i + 1) / chunks, i);
}

// A rank looks for its own part of a tensor while its started collective, of
// other axes, is under way: neither the collective's places nor whose team
// works change.
TEST_F(StartedTest, SlicesLeaveItAlone) {
  WorldOptions options;
  options.mesh = {2, 3};
  options.threadsPerRank = 2;
  options.parallelFor = onTeam;
  open(options);
  teamsMisused = 0;
  constexpr int64_t count = 200000;
  onRanks([&](int rank) {
    hasTeam = true;
    int64_t inner = 1, reversed[] = {1, 0};
    int row = rank / 3, place = rank % 3 * 2 + row;
    Piece part{};
    part.type = manifest::I32;
    part.outer = part.rows = 1;
    part.bytes = part.to_place = 4 * count;
    Collective gather;
    gather.kind = CollectiveKind::AllGather;
    gather.op = 1;
    gather.axes = {&inner, 1};
    gather.pieces = {&part, 1};
    Piece own = part;
    own.bytes = own.from_place = 4;
    own.to_place = 0;
    Collective slice = gather;
    slice.kind = CollectiveKind::AllSlice;
    slice.op = 2;
    slice.axes = {reversed, 2};
    slice.pieces = {&own, 1};
    int32_t values[6];
    std::unique_ptr<CollectivePlan> slicePlan;
    ASSERT_TRUE(world->rank(rank).prepare(slice, &slicePlan).ok());
    for (int round = 0; round < 20; ++round) {
      std::vector<int32_t> mine(count, 10 * round + rank), all(3 * count);
      void *from = mine.data(), *to = all.data();
      ASSERT_TRUE(start(rank, gather, from, to).ok());
      // Some of it before, and some while the others are met and read.
      for (int i = 0; i < 2000; ++i) {
        void *at = nullptr, *begin = values;
        ASSERT_TRUE(world->rank(rank).publish(*slicePlan, &begin, &at).ok());
        ASSERT_EQ(at, values + place);
      }
      Status status = started[rank].wait(*plans[rank].back(), round + 1);
      ASSERT_TRUE(status.ok()) << status.message();
      for (int64_t i = 0; i < 3 * count; i += count / 4)
        ASSERT_EQ(all[i], 10 * round + 3 * row + i / count);
    }
  });
  EXPECT_EQ(teamsMisused, 0);
}

TEST_F(StartedTest, FailuresReachTheWait) {
  // Long enough for both to come in the end, however busy the machine is.
  open(2, 2);
  Sum first(1, 1), second(2, 1);
  int32_t value = 0;
  void *buffer = &value;
  ASSERT_TRUE(start(0, first.call, buffer, buffer).ok());
  ASSERT_TRUE(start(0, second.call, buffer, buffer).ok());
  Status status = started[0].wait(*plans[0].back(), 2);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("rank 1 did not arrive"), std::string::npos)
      << status.message();
  // It is forgotten with the step.
  EXPECT_FALSE(started[0].waitForAll().ok());
  world->reset();
  onRanks([&](int rank) {
    int32_t value = rank;
    void *buffer = &value;
    ASSERT_TRUE(start(rank, first.call, buffer, buffer).ok());
    Status status = started[rank].waitForAll();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(value, 1);
  });
}

// What is started along one axis waits for a peer that comes when what is
// started along the other is over, and what is not started.
TEST_F(StartedTest, GroupsDoNotWaitForEachOther) {
  WorldOptions options;
  options.mesh = {2, 2};
  options.timeout = 60;
  open(options);
  std::atomic<bool> done{false};
  onRanks([&](int rank) {
    Sum late(1, 1), other(2, 2000, 2);
    int32_t first = rank;
    std::vector<int32_t> second(2000, rank), third(2000, rank);
    if (rank == 2)
      while (!done)
        std::this_thread::yield();
    if (rank == 0 || rank == 2)
      ASSERT_TRUE(start(rank, late.call, &first, &first).ok());
    const CollectivePlan *beside = nullptr;
    if (rank < 2) {
      void *buffer = second.data();
      ASSERT_TRUE(start(rank, other.call, buffer, buffer).ok());
      beside = plans[rank].back().get();
      Status status = started[rank].wait(*beside, 1);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(second.back(), 1);
      EXPECT_TRUE(started[rank].isIdle(*beside));
      buffer = third.data();
      status = world->rank(rank).runOnce(other.call, &buffer, &buffer);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(third.back(), 1);
    }
    if (rank == 0) {
      EXPECT_FALSE(started[0].isIdle(*plans[0].front()));
      done = true;
    }
    Status status = started[rank].waitForAll();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(first, rank == 0 || rank == 2 ? 2 : rank);
  });
}

TEST_F(StartedTest, AbortEndsWhatIsUnderWay) {
  open(2, 60);
  Sum sum(1, 1);
  int32_t value = 0;
  void *buffer = &value;
  ASSERT_TRUE(start(0, sum.call, buffer, buffer).ok());
  world->rank(1).abort(0, "rank 1 met a label out of range");
  Status status = started[0].waitForAll();
  EXPECT_NE(status.message().find("label out of range"), std::string::npos);
  EXPECT_TRUE(started[0].isIdle(*plans[0].back()));
}

TEST_F(StartedTest, IsObserved) {
  open(1, 1);
  std::vector<int32_t> seen;
  started[0].observe([&](int32_t op, auto begin, auto end) {
    EXPECT_LE(begin, end);
    seen.push_back(op);
  });
  Sum first(4, 1), second(9, 1);
  int32_t value = 5;
  void *buffer = &value;
  ASSERT_TRUE(start(0, first.call, buffer, buffer).ok());
  ASSERT_TRUE(start(0, second.call, buffer, buffer).ok());
  EXPECT_TRUE(started[0].waitForAll().ok());
  EXPECT_EQ(seen, (std::vector<int32_t>{4, 9}));
  EXPECT_EQ(value, 5);
}

} // namespace
} // namespace dist
