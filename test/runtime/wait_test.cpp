//===- wait_test.cpp - Waiting for another thread -------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/wait.h"
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <gtest/gtest.h>

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

/// 0.7 s of the process's own time before another thread is ready; whoever
/// waits has 2 s.
static bool waitForWorker() {
  WaitPoint point;
  std::atomic<bool> ready{false};
  std::thread worker([&] {
    for (int i = 0; i < 70; ++i)
      std::this_thread::sleep_for(10ms);
    ready.store(true);
    point.notify();
  });
  bool result = point.wait([&] { return ready.load(); }, in(2s), 0);
  worker.join();
  return result;
}

TEST(WaitTest, TimeStandsStillWhileTheProcessIsSuspended) {
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0)
    _exit(waitForWorker() ? 0 : 1);
  std::this_thread::sleep_for(200ms);
  ASSERT_EQ(kill(child, SIGSTOP), 0);
  std::this_thread::sleep_for(3s);
  ASSERT_EQ(kill(child, SIGCONT), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
