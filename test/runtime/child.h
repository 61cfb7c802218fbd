//===- child.h - Conditions that hold in a process of their own -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CHILD_H
#define TEST_RUNTIME_CHILD_H

#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <gtest/gtest.h>

namespace dist {

/// A suspension of a process, and how long after its start it begins.
struct Suspension {
  std::chrono::milliseconds after{0}, length{0};
};

/// Whether `holds()` in a process of its own, a copy of this one, which is
/// suspended meanwhile.
template <typename Holds>
testing::AssertionResult holdsInChild(Holds holds, Suspension suspension = {}) {
  pid_t child = fork();
  if (child < 0)
    return testing::AssertionFailure() << "there is no process to be had";
  if (child == 0)
    _exit(holds() ? 0 : 1);
  if (suspension.length.count() > 0) {
    std::this_thread::sleep_for(suspension.after);
    kill(child, SIGSTOP);
    std::this_thread::sleep_for(suspension.length);
    kill(child, SIGCONT);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child)
    return testing::AssertionFailure() << "the process cannot be waited for";
  if (!WIFEXITED(status))
    return testing::AssertionFailure()
           << "the process ended by signal " << WTERMSIG(status);
  return WEXITSTATUS(status) == 0
             ? testing::AssertionSuccess()
             : testing::AssertionFailure() << "it does not hold there";
}

} // namespace dist

#endif // TEST_RUNTIME_CHILD_H
