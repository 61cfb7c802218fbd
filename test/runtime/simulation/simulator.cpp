//===- simulator.cpp - Processes under a simulated clock ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/simulator.h"
#include <cstdio>
#include <cstdlib>
#if defined(__SANITIZE_ADDRESS__)
#define SIMULATION_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMULATION_ASAN 1
#endif
#endif
#ifdef SIMULATION_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace dist::simulation {

static constexpr size_t kStack = 256 * 1024;
/// More calls of a ghost mean that its code does not end when all that it needs
/// is gone.
static constexpr int kMostGhostCalls = 100000;
/// A process that is due is not the first to run.
static constexpr microseconds kLongestTurn{300};

static Simulator *active = nullptr;

// The address sanitizer must know which stack is in use.
static void leaveStack([[maybe_unused]] void **fake,
                       [[maybe_unused]] const void *next,
                       [[maybe_unused]] size_t bytes) {
#ifdef SIMULATION_ASAN
  __sanitizer_start_switch_fiber(fake, next, bytes);
#endif
}
static void arriveAtStack([[maybe_unused]] void *fake,
                          [[maybe_unused]] const void **from,
                          [[maybe_unused]] size_t *bytes) {
#ifdef SIMULATION_ASAN
  __sanitizer_finish_switch_fiber(fake, from, bytes);
#endif
}
/// Of the stack that runs the simulator.
static const void *mainStack = nullptr;
static size_t mainBytes = 0;

Simulator::Simulator(uint64_t seed, bool isTraced)
    : random(seed), isTraced(isTraced), clock(Time() + seconds(1000)) {}

Simulator::~Simulator() { crashAll(); }

void Simulator::crashAll() {
  onCrash = nullptr;
  events.clear();
  // Again for those that wait for others' ends.
  bool isOver = false;
  while (!isOver) {
    isOver = true;
    for (int process = 0; process < int(processes.size()); ++process) {
      processes[process]->frozenUntil = Time();
      crash(process);
      resume(process);
      isOver &= processes[process]->isDone;
    }
    events.clear();
  }
}

void Simulator::enter() {
  arriveAtStack(nullptr, &mainStack, &mainBytes);
  Simulator &self = *active;
  Process &process = *self.processes[self.current];
  process.body();
  process.body = nullptr;
  process.isDone = true;
  self.trace("ends");
  leaveStack(nullptr, mainStack, mainBytes);
  swapcontext(&process.context, &self.main);
}

int Simulator::start(const std::string &name, std::function<void()> body) {
  return add(name, int(processes.size()), std::move(body));
}

int Simulator::startThread(const std::string &name,
                           std::function<void()> body) {
  int thread = add(processes[runningProcess()]->name + "'s " + name,
                   runningProcess(), std::move(body));
  processes[thread]->isGhost = isGhost();
  processes[thread]->frozenUntil = processes[current]->frozenUntil;
  return thread;
}

void Simulator::join(int thread) {
  while (!isDone(thread)) {
    if (!isGhost()) {
      sleepUntil(clock + milliseconds(1));
      continue;
    }
    // The thread is one, too, and returns as soon as it runs.
    haunt();
    processes[current]->alarm = ++alarms;
    resumeAt(clock + kLongestTurn, current);
    yield();
  }
}

int Simulator::add(const std::string &name, int owner,
                   std::function<void()> body) {
  int number = int(processes.size());
  processes.push_back(std::make_unique<Process>());
  Process &process = *processes.back();
  process.name = name;
  process.owner = owner;
  process.body = std::move(body);
  process.stack.reset(new char[kStack]);
  process.sleeps = true;
  process.alarm = ++alarms;
  getcontext(&process.context);
  process.context.uc_stack.ss_sp = process.stack.get();
  process.context.uc_stack.ss_size = kStack;
  process.context.uc_link = nullptr;
  makecontext(&process.context, &Simulator::enter, 0);
  resumeAt(clock + between(Duration(), kLongestTurn), number);
  return number;
}

void Simulator::resumeAt(Time time, int process) {
  at(time, [this, process, alarm = processes[process]->alarm] {
    Process &one = *processes[process];
    if (one.alarm != alarm || one.isDone)
      return;
    if (!one.isGhost && one.frozenUntil > clock) {
      if (one.frozenUntil != Time::max())
        resumeAt(one.frozenUntil, process);
      return;
    }
    resume(process);
  });
}

void Simulator::resume(int number) {
  Process &process = *processes[number];
  if (process.isDone)
    return;
  process.sleeps = false;
  ++process.alarm;
  current = number;
  active = this;
  leaveStack(&mainFake, process.stack.get(), kStack);
  swapcontext(&main, &process.context);
  arriveAtStack(mainFake, nullptr, nullptr);
  current = -1;
}

void Simulator::yield() {
  Process &process = *processes[current];
  leaveStack(&process.fakeStack, mainStack, mainBytes);
  swapcontext(&process.context, &main);
  arriveAtStack(process.fakeStack, &mainStack, &mainBytes);
}

void Simulator::haunt() {
  Process &process = *processes[current];
  if (++process.ghostCalls < kMostGhostCalls)
    return;
  std::fprintf(stderr, "the code of %s does not end\n", process.name.c_str());
  std::abort();
}

Time Simulator::now() {
  if (!isGhost())
    return clock;
  // Its deadlines are over.
  haunt();
  Time &time = processes[current]->ghostTime;
  time = std::max(time, clock) + seconds(10);
  return time;
}

void Simulator::at(Time time, std::function<void()> event) {
  events.emplace(std::pair(std::max(time, clock), random()), std::move(event));
}

void Simulator::run(Time limit) {
  while (!events.empty() && events.begin()->first.first <= limit &&
         firstFailure.empty()) {
    clock = events.begin()->first.first;
    std::function<void()> event = std::move(events.begin()->second);
    events.erase(events.begin());
    event();
  }
}

std::string Simulator::judge(Duration most,
                             const std::function<void()> &checkEnd) {
  run(now() + most);
  if (firstFailure.empty())
    checkEnd();
  return firstFailure;
}

void Simulator::crash(int number) {
  const int owner = ownerOf(number);
  if (processes[number]->isDone || processes[number]->isGhost)
    return;
  if (isTraced && (current < 0 || owner != runningProcess()))
    trace("crash of " + processes[owner]->name);
  for (auto &process : processes)
    process->isGhost |= process->owner == owner;
  if (onCrash)
    onCrash(owner);
  for (int one = owner; one < int(processes.size()); ++one)
    if (ownerOf(one) == owner && one != current && !isDone(one)) {
      processes[one]->alarm = ++alarms;
      resumeAt(clock, one);
    }
}

void Simulator::freeze(int number, Time until) {
  const int owner = ownerOf(number);
  for (auto &process : processes)
    if (process->owner == owner)
      process->frozenUntil = std::max(process->frozenUntil, until);
  trace("freeze of " + processes[owner]->name);
}

void Simulator::crashAfter(int process, int points) {
  processes[process]->crashIn = points;
}

void Simulator::freezeAfter(int process, int points, Duration time) {
  processes[process]->freezeIn = points;
  processes[process]->freezeTime = time;
}

/// Counts down to 0, when it is due; below that it never is.
static bool isDue(int *points) {
  if (*points < 0)
    return false;
  --*points;
  return *points < 0;
}

void Simulator::pass() {
  Process &process = *processes[current];
  if (process.isGhost)
    return haunt();
  if (isDue(&process.crashIn)) {
    trace("crashes");
    crash(current);
  } else if (isDue(&process.freezeIn)) {
    bool isForever = process.freezeTime == Duration::max();
    freeze(current, isForever ? Time::max() : clock + process.freezeTime);
    process.isDeaf = true;
    process.sleeps = true;
    process.alarm = ++alarms;
    if (!isForever)
      resumeAt(process.frozenUntil, current);
    yield();
    process.isDeaf = false;
  }
}

void Simulator::sleepUntil(Time until) {
  pass();
  Process &process = *processes[current];
  if (process.isGhost)
    return;
  process.sleeps = true;
  process.alarm = ++alarms;
  resumeAt(until + between(Duration(), kLongestTurn), current);
  yield();
}

void Simulator::work(Duration time) {
  Process &process = *processes[current];
  process.isDeaf = true;
  sleepUntil(clock + time);
  process.isDeaf = false;
}

void Simulator::wake(int number) {
  Process &process = *processes[number];
  if (process.sleeps && !process.isDeaf && !process.isDone)
    resumeAt(clock + between(Duration(), kLongestTurn), number);
}

void Simulator::trace(const std::string &line) {
  if (!isTraced)
    return;
  std::chrono::duration<double> time = clock - (Time() + seconds(1000));
  std::fprintf(stderr, "%10.6f %s: %s\n", time.count(),
               current < 0 ? "-" : processes[current]->name.c_str(),
               line.c_str());
}

void Simulator::fail(const std::string &what) {
  if (isGhost())
    return;
  trace("FAILS: " + what);
  if (firstFailure.empty())
    firstFailure = what;
}

} // namespace dist::simulation
