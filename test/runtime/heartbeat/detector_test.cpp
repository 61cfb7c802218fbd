//===- detector_test.cpp - Silence, by a clock of the test's --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/heartbeat/detector.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dist::cluster;
using namespace std::chrono_literals;
using testing::ElementsAre;

namespace {

class DetectorTest : public testing::Test {
protected:
  Detector::TimePoint now = Detector::TimePoint() + 1h;
  Detector detector{2, 900ms};
  ThreadState state[2] = {ThreadState::Unknown, ThreadState::Unknown};
  std::vector<std::string> told; // "500 ms: 1 suspected"
  Detector::TimePoint begin = now;

  void SetUp() override {
    detector.add(0, now);
    detector.add(1, now);
  }
  /// A look that comes `late` behind its time.
  void look(std::chrono::milliseconds late = 0ms) {
    Detector::TimePoint planned = now + kLookInterval;
    now = planned + late;
    for (const Detector::Finding &finding :
         detector.look(now, planned, [&](int peer) { return state[peer]; })) {
      static const char *const words[] = {"suspected", "back", "lost"};
      told.push_back(
          std::to_string(
              std::chrono::duration_cast<std::chrono::milliseconds>(now - begin)
                  .count()) +
          " ms: " + std::to_string(finding.peer) + " " +
          words[int(finding.change)]);
    }
  }
  /// So long; those that are not silent are heard each other look.
  void pass(std::chrono::milliseconds time, std::vector<int> heard = {}) {
    for (auto end = now + time; now < end;) {
      look();
      for (int peer : heard)
        detector.heard(peer, now);
    }
  }
};

} // namespace

TEST_F(DetectorTest, SilenceIsSuspectedAndThenLost) {
  pass(2s, {0});
  EXPECT_THAT(told, ElementsAre("450 ms: 1 suspected", "900 ms: 1 lost"));
  EXPECT_FALSE(detector.isWatched(1));
}

TEST_F(DetectorTest, WhoIsHeardInTimeIsBack) {
  pass(600ms, {0});
  detector.heard(1, now);
  pass(800ms, {0});
  detector.heard(1, now);
  pass(200ms, {0});
  EXPECT_THAT(told, ElementsAre("450 ms: 1 suspected", "650 ms: 1 back",
                                "1050 ms: 1 suspected", "1450 ms: 1 back"));
}

TEST_F(DetectorTest, WhoHasLeftIsNotMissed) {
  detector.remove(1);
  pass(2s, {0});
  EXPECT_THAT(told, ElementsAre());
}

// The process was starved, suspended, or had no CPU: what it did not hear
// meanwhile says nothing.
TEST_F(DetectorTest, ALateLookBeginsAnew) {
  pass(850ms, {0});
  told.clear();
  look(101ms);
  EXPECT_THAT(told, ElementsAre("1001 ms: 1 back"));
  pass(850ms, {0});
  EXPECT_THAT(told, ElementsAre("1001 ms: 1 back", "1451 ms: 1 suspected"));
  pass(100ms, {0});
  EXPECT_EQ(told.back(), "1901 ms: 1 lost");
}

TEST_F(DetectorTest, AMachineThatIsAlwaysLateLosesNoOne) {
  for (int i = 0; i < 1000; ++i)
    look(150ms);
  EXPECT_THAT(told, ElementsAre());
}

TEST_F(DetectorTest, AnHourOfSuspensionIsNoSilence) {
  look(1h);
  pass(400ms);
  EXPECT_THAT(told, ElementsAre());
}

// Looks that are a little late count: else a machine with some load would
// never find anything.
TEST_F(DetectorTest, SmallDelaysCount) {
  for (int i = 0; i < 30; ++i) {
    look(20ms);
    detector.heard(0, now);
  }
  EXPECT_THAT(told, ElementsAre("490 ms: 1 suspected", "910 ms: 1 lost"));
}

TEST_F(DetectorTest, AThreadThatWaitsForACpuIsAlive) {
  state[1] = ThreadState::Runnable;
  pass(1min, {0});
  EXPECT_THAT(told, ElementsAre());
  // From then on it is silent for another reason.
  state[1] = ThreadState::Stopped;
  pass(500ms, {0});
  EXPECT_EQ(told.size(), 1u);
  pass(500ms, {0});
  ASSERT_EQ(told.size(), 2u);
  EXPECT_THAT(told.back(), testing::HasSubstr("1 lost"));
}

TEST_F(DetectorTest, AThreadThatWaitsForADiskIsAliveForAWhile) {
  state[1] = ThreadState::Blocked;
  pass(4s, {0});
  detector.heard(1, now);
  begin = now;
  pass(4s, {0});
  EXPECT_THAT(told, ElementsAre());
  pass(3s, {0});
  EXPECT_THAT(told, ElementsAre("5200 ms: 1 suspected", "5650 ms: 1 lost"));
}

TEST_F(DetectorTest, SleepingIsNoExcuse) {
  state[1] = ThreadState::Sleeps;
  pass(1s, {0});
  EXPECT_THAT(told, ElementsAre("450 ms: 1 suspected", "900 ms: 1 lost"));
}

TEST_F(DetectorTest, WithoutPatienceSilenceIsNone) {
  detector = Detector(2, 0ms);
  detector.add(0, now);
  pass(1min);
  EXPECT_THAT(told, ElementsAre());
}
