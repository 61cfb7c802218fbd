//===- prepare.cpp - Compiling ahead --------------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/prepare.h"
#include "tools/dist-run/compiler.h"
#include "tools/dist-run/launch.h"
#include "tools/options/cluster.h"
#include "tools/options/interrupt.h"
#include "tools/options/piped_files.h"
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dist::tools {

/// `WORKERS HOSTS` that are prepared for.
static constexpr char kVariable[] = "DIST_RUN_PREPARE";
/// Until a process that was told to end is killed.
static constexpr int kGraceMilliseconds = 500;

void Preparation::begin(int workers, int hosts,
                        const std::optional<cpu_set_t> &cpus) {
  end();
  std::vector<std::string> words = ownCommandLine();
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  // Made here: behind a fork of several threads nothing may be allocated.
  std::string own = std::string(kVariable) + "=" + std::to_string(workers) +
                    " " + std::to_string(hosts);
  std::vector<char *> environment;
  for (char **one = environ; *one; ++one)
    environment.push_back(*one);
  environment.push_back(own.data());
  environment.push_back(nullptr);
  Shield shield("starting a compilation");
  pid_t parent = getpid();
  child = forkHearing();
  if (child != 0)
    return;
  setpgid(0, 0);
  dieWith(parent);
  // What else runs goes first.
  sched_param idle{};
  (void)sched_setscheduler(0, SCHED_IDLE, &idle);
  if (cpus)
    (void)sched_setaffinity(0, sizeof *cpus, &*cpus);
  int null = open("/dev/null", O_RDWR);
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (stream != STDIN_FILENO || !namesStandardInput())
      dup2(null, stream);
  execve("/proc/self/exe", argv.data(), environment.data());
  _exit(127);
}

bool Preparation::wait(int milliseconds) {
  for (int waited = 0; child > 0; ++waited) {
    int status = 0;
    pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR))
      child = -1;
    else if (waited >= milliseconds)
      return false;
    else
      poll(nullptr, 0, 1);
  }
  return true;
}

void Preparation::finish() {
  if (child <= 0)
    return;
  sched_param normal{};
  (void)sched_setscheduler(child, SCHED_OTHER, &normal);
  while (!wait(100))
    if (interruptedBy())
      return end();
}

void Preparation::end() {
  if (child <= 0)
    return;
  kill(child, SIGTERM);
  if (!wait(kGraceMilliseconds)) {
    kill(child, SIGKILL);
    while (!wait(100))
      ;
  }
}

bool takePreparation(Options *options) {
  const char *given = std::getenv(kVariable);
  int workers = 0, hosts = 0;
  if (!given || std::sscanf(given, "%d %d", &workers, &hosts) != 2)
    return false;
  forgetLaunchedPackage();
  setWorkers(options, workers, hosts);
  return true;
}

} // namespace dist::tools
