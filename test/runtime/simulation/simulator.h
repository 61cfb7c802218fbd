//===- simulator.h - Processes under a simulated clock ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The processes of a cluster in one thread, one at a time, under a clock that
// jumps to what happens next. Each has a stack of its own, so that the shipped
// code runs as it is: where that waits, the next process runs. A seed decides
// all that is left to chance, so it gives the same run again, to the last
// event.
//
// A process may have threads, which crash and freeze with it.
//
// A process that crashes must leave its stack, too: it goes on as a ghost,
// whose waits return at once and whose effects reach nobody, until its code
// returns.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SIMULATION_SIMULATOR_H
#define TEST_RUNTIME_SIMULATION_SIMULATOR_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <ucontext.h>
#include <vector>

namespace dist::simulation {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Duration = Clock::duration;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Simulator {
public:
  /// `isTraced`: what happens is written to standard error as it happens.
  Simulator(uint64_t seed, bool isTraced);
  ~Simulator();
  /// Ends the run: who is not done leaves its stack. To be called while all
  /// that is there that the processes use.
  void crashAll();

  // Chance:

  uint64_t below(uint64_t end) { return end ? random() % end : 0; }
  bool chance(double probability) {
    return double(below(1 << 20)) < probability * (1 << 20);
  }
  Duration between(Duration least, Duration most) {
    return least + Duration(below(uint64_t((most - least).count()) + 1));
  }

  // Processes, by number:

  int start(const std::string &name, std::function<void()> body);
  /// A thread of the one that runs. It has a number of its own.
  int startThread(const std::string &name, std::function<void()> body);
  /// Until a thread is done.
  void join(int thread);
  /// Of a thread: its process.
  int ownerOf(int thread) const { return processes[thread]->owner; }
  /// It dies where it is. `onCrash` hears of it first.
  void crash(int process);
  /// It does nothing until then: SIGSTOP, and SIGCONT.
  void freeze(int process, Time until);
  /// The same, when it has passed so many more points.
  void crashAfter(int process, int points);
  void freezeAfter(int process, int points, Duration time);
  bool isDone(int process) const { return processes[process]->isDone; }
  bool isGhost(int process) const { return processes[process]->isGhost; }
  /// Whether the one that runs is one.
  bool isGhost() const { return current >= 0 && isGhost(current); }
  Time frozenUntil(int process) const {
    return processes[process]->frozenUntil;
  }
  bool isFrozenForever(int process) const {
    return processes[process]->frozenUntil == Time::max();
  }
  std::function<void(int)> onCrash;

  // Time:

  /// The clock of who asks.
  Time now();
  /// `event` happens at a time, in no process.
  void at(Time time, std::function<void()> event);
  /// Until nothing is left to happen, or the time, or something went wrong.
  void run(Time limit);
  /// For so long, and then has `checkEnd` look at where it has come to, if
  /// nothing went wrong; what did.
  std::string judge(Duration most, const std::function<void()> &checkEnd);

  // Of the process that runs:

  int running() const { return current; }
  /// Its process.
  int runningProcess() const { return ownerOf(current); }
  /// A point at which a fault may meet it.
  void pass();
  /// Until the time, or `wake`.
  void sleepUntil(Time until);
  /// For so long, whoever wakes it.
  void work(Duration time);
  void wake(int process);

  // What went wrong:

  void trace(const std::string &line);
  /// Keeps the first.
  void fail(const std::string &what);
  /// Empty: nothing.
  const std::string &failure() const { return firstFailure; }

private:
  struct Process {
    std::string name;
    std::function<void()> body;
    int owner = -1; // itself, unless it is a thread
    std::unique_ptr<char[]> stack;
    ucontext_t context;
    bool isDone = false, isGhost = false, sleeps = false, isDeaf = false;
    Time frozenUntil, ghostTime;
    /// Of the sleep that it is in; one that is over is no alarm any more.
    uint64_t alarm = 0;
    int ghostCalls = 0;
    int crashIn = -1, freezeIn = -1;
    Duration freezeTime{};
    void *fakeStack = nullptr; // the address sanitizer's
  };

  static void enter();
  int add(const std::string &name, int owner, std::function<void()> body);
  void resume(int process);
  void resumeAt(Time time, int process);
  void yield();
  void haunt();

  std::mt19937_64 random;
  const bool isTraced;
  Time clock;
  /// In the order of their times; those of one time in an order by chance.
  std::multimap<std::pair<Time, uint64_t>, std::function<void()>> events;
  std::vector<std::unique_ptr<Process>> processes;
  int current = -1;
  uint64_t alarms = 0;
  ucontext_t main;
  void *mainFake = nullptr;
  std::string firstFailure;
};

} // namespace dist::simulation

#endif // TEST_RUNTIME_SIMULATION_SIMULATOR_H
