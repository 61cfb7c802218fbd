//===- interrupt_test.cpp - SIGTERM, heard wherever it finds a process ----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each case is a process of its own, since signals are a process's. One that
// does not hear is ended by an alarm, so that its test fails and does not hang.
//
//===----------------------------------------------------------------------===//
#include "tools/options/interrupt.h"
#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dist::tools {
namespace {

constexpr unsigned kDeafSeconds = 120;
constexpr int kEnded = 128 + SIGTERM;

[[noreturn]] void waitForever() {
  for (;;)
    pause();
}

/// How a process ends that takes signals as the tools do, and does this.
int statusOf(const std::function<int()> &body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kDeafSeconds);
    watchInterrupts("interrupt_test", [] {});
    _exit(body());
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

int exitCodeOf(const std::function<int()> &body) {
  const int status = statusOf(body);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Status lost() { return Status::error(StatusCode::Unavailable, "lost"); }

TEST(Interrupt, WorkIsBroughtToItsEnd) {
  EXPECT_EQ(exitCodeOf([] {
              Status status = workShielded(
                  "working",
                  [] {
                    raise(SIGTERM);
                    return Status();
                  },
                  [](const Status &) { return false; }, [] { return false; });
              return status.ok() && interruptedBy() == SIGTERM ? 7 : 1;
            }),
            7);
}

TEST(Interrupt, WhoComesBackIsNotShielded) {
  EXPECT_EQ(exitCodeOf([] {
              (void)workShielded(
                  "working", lost, [](const Status &) { return true; },
                  []() -> bool {
                    raise(SIGTERM);
                    waitForever(); // for a chief that does not answer
                  });
              return 1;
            }),
            kEnded);
}

TEST(Interrupt, WhoIsToldToEndDoesNotComeBack) {
  EXPECT_EQ(exitCodeOf([] {
              Status status = workShielded(
                  "working",
                  [] {
                    raise(SIGTERM);
                    return lost();
                  },
                  [](const Status &) { return true; },
                  [] {
                    _exit(1);
                    return true;
                  });
              return status.ok() ? 1 : 7;
            }),
            7);
}

TEST(Interrupt, WorkGoesOnBehindAReturn) {
  EXPECT_EQ(exitCodeOf([] {
              int works = 0;
              Status status = workShielded(
                  "working", [&] { return ++works < 3 ? lost() : Status(); },
                  [](const Status &failed) { return !failed.ok(); },
                  [] { return true; });
              return status.ok() ? 10 + works : 1;
            }),
            13);
}

TEST(Interrupt, AChildHearsBeforeItIsAnotherProgram) {
  EXPECT_EQ(exitCodeOf([] {
              const pid_t child = forkHearing();
              if (child == 0) {
                alarm(kDeafSeconds);
                pause();
                _exit(1);
              }
              kill(child, SIGTERM);
              int status = 0;
              if (waitpid(child, &status, 0) != child)
                return 1;
              return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? 7 : 2;
            }),
            7);
}

TEST(Interrupt, AChildIgnoresWhatItsParentWasToIgnore) {
  EXPECT_EQ(exitCodeOf([] {
              std::signal(SIGINT, SIG_IGN);
              const pid_t child = forkHearing();
              if (child == 0) {
                raise(SIGINT);
                _exit(7);
              }
              int status = 0;
              return waitpid(child, &status, 0) == child && WIFEXITED(status)
                         ? WEXITSTATUS(status)
                         : 1;
            }),
            7);
}

} // namespace
} // namespace dist::tools
