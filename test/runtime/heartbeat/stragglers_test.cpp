//===- stragglers_test.cpp - Who the others wait for ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/heartbeat/monitor.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dist::cluster;
using namespace dist::cluster::proto;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

class StragglersTest : public testing::Test {
protected:
  /// Milliseconds of each process's own.
  struct Own {
    double input = 0, compute = 3;
  };
  Own own[3];
  /// Milliseconds that the messages take, of all.
  double network = 1;
  int64_t step = 0;
  Stragglers stragglers{3};
  Monitor monitor{{{"chief 0", "a:1", "a", 11},
                   {"worker 0", "b:1", "b", 12},
                   {"worker 1", "c:1", "c", 13}}};

  StepTimes timesOf(int member) const {
    double whole = 0;
    for (const Own &one : own)
      whole = std::max(whole, one.input + one.compute);
    whole += network;
    StepTimes times;
    times.set_step(step);
    times.set_examples(96);
    times.set_seconds(whole * 1e-3);
    times.set_input_seconds(own[member].input * 1e-3);
    times.set_wait_seconds((whole - own[member].input - own[member].compute) *
                           1e-3);
    return times;
  }
  /// A step of all, told of in another order each.
  std::vector<Stragglers::Change> run() {
    ++step;
    for (int i = 0; i < 3; ++i)
      stragglers.add((i + step) % 3, timesOf((i + step) % 3));
    return stragglers.takeChanges();
  }
  /// Steps until there is a change; 0: none in 100.
  int stepsUntilChange(Stragglers::Change *change) {
    for (int count = 1; count <= 100; ++count)
      for (const Stragglers::Change &one : run()) {
        *change = one;
        return count;
      }
    return 0;
  }
};

} // namespace

TEST_F(StragglersTest, TenTimesSlowIsNamedWithinTenSteps) {
  Stragglers::Change change;
  EXPECT_EQ(stepsUntilChange(&change), 0);
  own[1].compute = 30;
  int steps = stepsUntilChange(&change);
  EXPECT_GT(steps, 1);
  EXPECT_LE(steps, 10);
  EXPECT_TRUE(change.isSlow);
  EXPECT_EQ(change.who.member, 1);
  EXPECT_EQ(change.who.reason, ClusterStatus::COMPUTE);
  EXPECT_GT(change.who.factor(), 5);
  EXPECT_EQ(change.step, step);
  // Once.
  Stragglers::Change next;
  EXPECT_EQ(stepsUntilChange(&next), 0);
  own[1].compute = 3;
  EXPECT_LE(stepsUntilChange(&next), 10);
  EXPECT_FALSE(next.isSlow);
  EXPECT_EQ(next.who.member, 1);
}

TEST_F(StragglersTest, ALateInputIsTheReason) {
  own[2].input = 30;
  Stragglers::Change change;
  EXPECT_LE(stepsUntilChange(&change), 10);
  EXPECT_EQ(change.who.member, 2);
  EXPECT_EQ(change.who.reason, ClusterStatus::INPUT);
}

TEST_F(StragglersTest, SingleLateStepsAreNoReason) {
  for (int i = 0; i < 300; ++i) {
    own[0].compute = i % 5 == 0 ? 100 : 3;
    EXPECT_THAT(run(), IsEmpty());
  }
}

// Twice as much, or much of what is nothing beside the messages.
TEST_F(StragglersTest, UnequalIsNotSlow) {
  own[1].compute = 6;
  Stragglers::Change change;
  EXPECT_EQ(stepsUntilChange(&change), 0);
  own[0].compute = own[2].compute = 0.1;
  own[1].compute = 1;
  network = 20;
  EXPECT_EQ(stepsUntilChange(&change), 0);
}

// Of steps that take no time, as a busy machine makes them.
TEST_F(StragglersTest, SteadyDelaysOfABriefStepAreNoReason) {
  network = 0.1;
  own[0].compute = own[2].compute = 0.2;
  own[1].compute = 2;
  Stragglers::Change change;
  EXPECT_EQ(stepsUntilChange(&change), 0);
  own[1].compute = 4;
  EXPECT_LE(stepsUntilChange(&change), 10);
  EXPECT_TRUE(change.isSlow);
}

TEST_F(StragglersTest, WhereAllWaitItIsTheNetwork) {
  network = 20;
  for (int i = 0; i < 10; ++i)
    run();
  ASSERT_TRUE(stragglers.slowest());
  EXPECT_EQ(stragglers.slowest()->reason, ClusterStatus::NETWORK);
}

TEST_F(StragglersTest, StepsThatOneNeverToldOfAreLeftOut) {
  own[1].compute = 30;
  for (int i = 0; i < 50; ++i) {
    ++step;
    for (int member = 0; member < 3; ++member)
      if (member != 2 || step % 2)
        stragglers.add(member, timesOf(member));
  }
  EXPECT_EQ(stragglers.takeChanges().size(), 1u);
  // One that has gone is not waited for.
  stragglers.remove(2);
  own[1].compute = 3;
  Stragglers::Change change;
  EXPECT_LE(stepsUntilChange(&change), 10);
  EXPECT_FALSE(change.isSlow);
}

TEST_F(StragglersTest, OneProcessHasNoSlowest) {
  Stragglers alone(1);
  for (step = 1; step < 20; ++step)
    alone.add(0, timesOf(0));
  EXPECT_FALSE(alone.slowest());
}

TEST_F(StragglersTest, TheMonitorTellsOfAllOfIt) {
  Monitor::Clock::time_point now;
  own[2].compute = 27;
  for (step = 1; step <= 20; ++step)
    for (int member = 0; member < 3; ++member) {
      Beat beat;
      beat.set_epoch(2);
      beat.set_step(step + 1);
      RankPlace &place = *beat.add_ranks();
      place.set_rank(member);
      place.set_op(7);
      *beat.add_steps() = timesOf(member);
      monitor.heard(member, beat, now);
    }
  EXPECT_THAT(monitor.takeNotes(),
              ElementsAre(HasSubstr(
                  "worker 1 at c:1 (process 13) is slow (compute): by step 6 a "
                  "step takes 27 ms of its own time, 3 ms of the others'")));
  EXPECT_THAT(monitor.takeNotes(), IsEmpty());
  EXPECT_EQ(monitor.lastPlaceOf(1,
                                [](int rank, int32_t op) {
                                  return "op " + std::to_string(op) + " of " +
                                         std::to_string(rank);
                                }),
            "in step 21, at op 7 of 1");
  monitor.setState(1, ClusterStatus::Member::SILENT);
  ClusterStatus status = monitor.status(now + std::chrono::seconds(2));
  ASSERT_EQ(status.members_size(), 3);
  EXPECT_EQ(status.members(1).task(), "worker 0");
  EXPECT_EQ(status.members(1).state(), ClusterStatus::Member::SILENT);
  EXPECT_EQ(status.members(1).beat_age(), 2);
  EXPECT_EQ(status.members(2).step(), 21);
  EXPECT_NEAR(status.members(2).compute_seconds(), 0.027, 1e-9);
  EXPECT_NEAR(status.members(1).wait_seconds(), 0.025, 1e-9);
  EXPECT_EQ(status.examples(), 20 * 96);
  EXPECT_NEAR(status.examples_per_second(), 96 / 0.028, 1e-6);
  EXPECT_EQ(status.slowest(), 2);
  EXPECT_EQ(status.reason(), ClusterStatus::COMPUTE);
  EXPECT_NEAR(status.slowness(), 9, 1e-9);
}
