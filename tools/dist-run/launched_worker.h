//===- launched_worker.h - A process of `--workers` -------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What its launcher knows of it, and what its end means.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_LAUNCHED_WORKER_H
#define TOOLS_DIST_RUN_LAUNCHED_WORKER_H

#include "tools/dist-run/commands.h"
#include "tools/options/options.h"
#include <chrono>
#include <cstring>
#include <string>
#include <sys/wait.h>

namespace dist::tools {

using Clock = std::chrono::steady_clock;

struct Worker {
  std::string name, config;
  pid_t process = 0;
  int pipe = -1;          // what it says
  std::string unfinished; // line
  bool hasEnded = false;
  bool isKilled = false; // by this process, behind the run's end
  int status = 0;        // waitpid's
  Clock::time_point end;
  // Where it could not be started again:
  bool isRefused = false;
  Clock::time_point nextTry;
};

/// Who is not lost has done all of the run, or was stopped with all others.
inline bool hasFinished(const Worker &worker) {
  return worker.hasEnded && WIFEXITED(worker.status) &&
         (WEXITSTATUS(worker.status) == 0 ||
          WEXITSTATUS(worker.status) == kResumableExit);
}

/// A device, a peer or a file system has failed, or the process was killed: no
/// fault of what it was given, which would be there again.
inline bool isAccident(int status) {
  return WIFSIGNALED(status) ||
         (WIFEXITED(status) &&
          WEXITSTATUS(status) == exitCodeOf(StatusCode::Unavailable));
}

inline std::string describeEnd(const Worker &worker) {
  return worker.name + (WIFSIGNALED(worker.status)
                            ? std::string(" was ended by SIG") +
                                  sigabbrev_np(WTERMSIG(worker.status))
                            : " ended with exit code " +
                                  std::to_string(WEXITSTATUS(worker.status)));
}

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_LAUNCHED_WORKER_H
