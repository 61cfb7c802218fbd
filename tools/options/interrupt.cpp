//===- interrupt.cpp - SIGINT, SIGTERM and limits on files -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The handler writes the signal's number to a pipe. A thread reads it there and
// does what no handler may. A handler, unlike a blocked signal, is not handed
// down to the programs that this one starts.
//
//===----------------------------------------------------------------------===//
#include "tools/options/interrupt.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <mutex>
#include <pthread.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dist::tools {

/// `timeout` and the like send a signal to the process and to its group: what
/// comes so soon after the first is no second one.
static constexpr int64_t kSameNanoseconds = 250'000'000;

// What the handler touches.
static std::atomic<int> firstSignal{0};
static std::atomic<int64_t> firstTime{0};
static std::atomic<pid_t> childGroup{0};
static int pipeEnds[2] = {-1, -1};

// What the thread and the shields share.
static std::mutex mutex;
static const char *shielded = nullptr; // the innermost shield's word
static const char *activity = "starting";
static const char *toolName = "";
static bool told = false; // the user has seen that the signal arrived
/// Never destroyed: the thread may need it while the process exits.
static std::function<void()> *cleanUp = nullptr;

static int64_t nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

static void onSignal(int signal) {
  int error = errno;
  int none = 0;
  if (firstSignal.compare_exchange_strong(none, signal)) {
    firstTime.store(nanoseconds());
    char number = char(signal);
    (void)!write(pipeEnds[1], &number, 1);
  } else if (int64_t first = firstTime.load(); // 0: another thread is at it
             first != 0 && nanoseconds() - first > kSameNanoseconds) {
    if (pid_t group = childGroup.load())
      kill(-group, SIGKILL);
    _exit(128 + signal);
  }
  errno = error;
}

int interruptedBy() { return firstSignal.load(); }

const char *signalName(int signal) {
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}

/// A line that begins where a progress bar may stand.
static void say(const std::string &text) {
  std::string line = (isatty(STDERR_FILENO) ? "\r\x1b[K" : "") +
                     std::string(toolName) + ": note: " + text + "\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
}

/// With the mutex held, so that no thread begins what must not be broken off.
[[noreturn]] static void leave() {
  int signal = interruptedBy();
  if (!told)
    say(std::string("ended by ") + signalName(signal) + " while " + activity);
  if (pid_t group = childGroup.load()) {
    kill(-group, SIGKILL);
    // Not reaped: the thread that waits for the child does so.
    siginfo_t info;
    while (waitid(P_PID, id_t(group), &info, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR)
      ;
  }
  if (*cleanUp)
    (*cleanUp)();
  _exit(128 + signal);
}

static void *watch(void *) {
  char number;
  while (read(pipeEnds[0], &number, 1) < 0 && errno == EINTR)
    ;
  std::lock_guard<std::mutex> lock(mutex);
  if (!shielded)
    leave();
  say(std::string(signalName(number)) + ": " + shielded +
      "; a second one ends at once");
  told = true;
  return nullptr;
}

// What the two did when the process was started.
static void (*startedPipe)(int) = SIG_DFL;
static void (*startedSize)(int) = SIG_DFL;

void reportFailedWrites() {
  startedPipe = std::signal(SIGPIPE, SIG_IGN);
  startedSize = std::signal(SIGXFSZ, SIG_IGN);
}

void restoreFailedWrites() {
  std::signal(SIGPIPE, startedPipe);
  std::signal(SIGXFSZ, startedSize);
}

bool endsWithReader() { return startedPipe != SIG_IGN; }

void endWithReader() {
  std::signal(SIGPIPE, SIG_DFL);
  // Masks are handed down, too.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_UNBLOCK, &pipe, nullptr);
  raise(SIGPIPE);
  _exit(128 + SIGPIPE);
}

void watchInterrupts(const char *tool, std::function<void()> clean) {
  toolName = tool;
  cleanUp = new std::function<void()>(std::move(clean));
  if (pipe2(pipeEnds, O_CLOEXEC) != 0)
    return;
  // Small: address space may be short, and the thread does little.
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  // Without the thread the signals end the process as ever.
  bool started = pthread_create(&thread, &attributes, watch, nullptr) == 0;
  pthread_attr_destroy(&attributes);
  for (int signal : {SIGINT, SIGTERM}) {
    struct sigaction action{}, old{};
    action.sa_handler = onSignal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (started && sigaction(signal, nullptr, &old) == 0 &&
        old.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
}

void setActivity(const char *what) {
  std::lock_guard<std::mutex> lock(mutex);
  activity = what;
}

void waitIfEnding() {
  // Who ends the process has it to the end.
  std::lock_guard<std::mutex> lock(mutex);
}

pid_t forkHearing() {
  sigset_t both, before;
  sigemptyset(&both);
  for (int signal : {SIGINT, SIGTERM})
    sigaddset(&both, signal);
  pthread_sigmask(SIG_BLOCK, &both, &before);
  pid_t child = fork();
  int error = errno;
  for (int signal : {SIGINT, SIGTERM}) {
    struct sigaction found{};
    if (child == 0 && sigaction(signal, nullptr, &found) == 0 &&
        found.sa_handler == onSignal)
      std::signal(signal, SIG_DFL);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return child;
}

void dieWith(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(128 + SIGKILL);
}

void setChildGroup(pid_t group) {
  std::lock_guard<std::mutex> lock(mutex);
  childGroup.store(group);
}

Shield::Shield(const char *wait) {
  std::lock_guard<std::mutex> lock(mutex);
  outer = shielded;
  shielded = wait;
}

Shield::~Shield() {
  std::lock_guard<std::mutex> lock(mutex);
  if (dismissed)
    return;
  shielded = outer;
  if (!shielded && interruptedBy())
    leave();
}

Status workShielded(const char *wait, const std::function<Status()> &work,
                    const std::function<bool(const Status &)> &mayComeBack,
                    const std::function<bool()> &comesBack) {
  for (;;) {
    Status status;
    {
      Shield shield(wait);
      status = work();
      if (interruptedBy() || !mayComeBack(status)) {
        shield.dismiss();
        return status;
      }
    }
    if (!comesBack())
      return status;
  }
}

} // namespace dist::tools
