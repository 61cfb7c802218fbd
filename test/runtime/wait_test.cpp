//===- wait_test.cpp - Waiting for another thread -------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/wait.h"
#include "test/runtime/child.h"

using namespace dist;
using namespace std::chrono_literals;

static auto in(std::chrono::milliseconds time) {
  return WaitPoint::Clock::now() + time;
}

TEST(WaitTest, EndsAtTheDeadline) {
  WaitPoint point;
  auto begin = WaitPoint::Clock::now();
  EXPECT_FALSE(point.wait([] { return false; }, in(300ms), 0));
  EXPECT_GE(WaitPoint::Clock::now() - begin, 300ms);
}

/// 0.3 s of the process's own time, or some times that on a busy machine,
/// before another thread is ready; whoever waits has 2 s, and is woken from
/// time to time for somebody else's sake if `others` come.
static bool waitForWorker(bool others) {
  WaitPoint point;
  std::atomic<int> progress{0};
  constexpr int all = 30;
  std::thread worker([&] {
    for (int i = 1; i <= all; ++i) {
      std::this_thread::sleep_for(10ms);
      if (i < all && !others)
        continue;
      progress.store(i);
      point.notify();
    }
  });
  auto deadline = in(2s);
  bool inTime = true;
  for (int seen = 0; inTime && seen < all; seen = progress.load()) {
    inTime =
        point.waitUntil([&] { return progress.load() != seen; }, deadline, 0);
  }
  worker.join();
  return inTime;
}

struct SuspendedWaitTest : testing::TestWithParam<bool> {};

TEST_P(SuspendedWaitTest, TimeStandsStillWhileTheProcessIsSuspended) {
  EXPECT_TRUE(
      holdsInChild([] { return waitForWorker(GetParam()); }, {200ms, 3s}));
}

INSTANTIATE_TEST_SUITE_P(Cases, SuspendedWaitTest, testing::Bool());
