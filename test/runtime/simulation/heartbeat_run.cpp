//===- heartbeat_run.cpp - Processes that watch each other, simulated -----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shipped heartbeats of a cluster whose processes crash, freeze, are cut
// off, wait for CPUs and have slow clocks; now and then all of them freeze at
// once, as their machine does. Each asks its heartbeat before it writes what
// one process alone may write.
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/heartbeat/heartbeat.h"
#include "test/runtime/simulation/beats.h"
#include "test/runtime/simulation/run.h"
#include <algorithm>
#include <optional>

namespace dist::simulation {

using namespace cluster;

namespace {

constexpr double kPatience = 0.9;
constexpr seconds kWork{8};
constexpr std::chrono::minutes kLimit{10};
/// What is known of the processes is looked at so often.
constexpr milliseconds kSample{20};
/// Shorter silence is none, whatever else makes beats late.
constexpr milliseconds kShort{200};
/// Of who looks for beats: when looks are as late, silence may not count.
constexpr milliseconds kTolerable{80};

class HeartbeatRun {
public:
  HeartbeatRun(uint64_t seed, bool isTraced);
  ~HeartbeatRun() { simulator.crashAll(); }
  std::string run();

private:
  enum class Fault { None, Crash, Freeze, Cut };
  struct Process {
    std::unique_ptr<BeatMachine> machine;
    Heartbeat *beats = nullptr; // while it has them
    std::optional<Time> joined;
    Fault fault = Fault::None;
    std::optional<Time> faultBegin, faultEnd; // as is known
    std::optional<Time> failed;               // when it has heard of one
    std::optional<Time> lost;                 // to the chief
    Status result;
  };

  void makeProcess(int number);
  void live(int self);
  void work(int self, Heartbeat &beats);
  void write(int self);
  void hearsOfFailure(int self, Heartbeat &beats);
  void planFaults();
  void disturb(int victim);
  void pauseAll();
  void sample();
  void checkEnd();
  void checkNoticed(int victim, int self);
  /// When at the latest one notices what befell another.
  std::optional<Duration> bound(int victim, int self) const;
  bool isLookedAt(int number) const {
    return processes[number].machine->lateness <= kTolerable;
  }
  std::string nameOf(int number) const {
    return "worker " + std::to_string(number);
  }

  Simulator simulator;
  BeatNetwork network;
  std::vector<Process> processes;
  std::string endpoint;
  Time end;
  bool isBusy = false; // the machine that they are on
  bool isShort = true; // each fault, so that nobody may be lost
  bool isCalm = true;  // so that nobody may be suspected
};

} // namespace

HeartbeatRun::HeartbeatRun(uint64_t seed, bool isTraced)
    : simulator(seed, isTraced), network(simulator) {
  network.latest = simulator.between(microseconds(200), milliseconds(20));
  end = simulator.now() + kWork;
  isBusy = simulator.chance(0.2);
  processes.resize(2 + simulator.below(4));
  simulator.onCrash = [this](int number) {
    network.crash(number);
    processes[number].fault = Fault::Crash;
    isShort = isCalm = false;
    // The clock of who crashes stands no more.
    simulator.at(Time(), [this, number] {
      processes[number].faultBegin = simulator.now();
    });
  };
}

void HeartbeatRun::makeProcess(int number) {
  Process &own = processes[number];
  // On one that is busy all see of each other who waits for a CPU.
  const int host = isBusy ? 0 : int(simulator.below(2));
  own.machine = std::make_unique<BeatMachine>(simulator, network, number, host);
  own.machine->find = [this](int64_t other) {
    return processes[size_t(other)].machine.get();
  };
  if (simulator.chance(0.2))
    own.machine->rate = simulator.chance(0.5) ? 0.25 : 0.5;
  if (own.machine->rate == 1 && simulator.chance(0.3))
    own.machine->lateness =
        simulator.between({}, isBusy ? seconds(2) : Duration(kTolerable));
  simulator.start(nameOf(number), [this, number] { live(number); });
}

void HeartbeatRun::live(int self) {
  Process &own = processes[self];
  HeartbeatOptions options;
  for (int member = 0; member < int(processes.size()); ++member)
    options.members.push_back({nameOf(member), "", "", member});
  options.self = self;
  options.patience = kPatience;
  options.surroundings = own.machine.get();
  std::unique_ptr<Heartbeat> beats;
  if (self == 0) {
    own.result = Heartbeat::serve(options, "127.0.0.1", &beats, &endpoint);
  } else {
    if (simulator.chance(0.2))
      simulator.sleepUntil(simulator.now() + simulator.between({}, seconds(4)));
    while (endpoint.empty() && !simulator.isGhost() && simulator.now() < end)
      simulator.sleepUntil(simulator.now() + milliseconds(5));
    own.result = Heartbeat::join(options, "127.0.0.1", endpoint, &beats);
  }
  if (!own.result.ok() || simulator.isGhost()) {
    simulator.trace(own.result.message());
    return;
  }
  own.joined = simulator.now();
  own.beats = beats.get();
  work(self, *beats);
  own.beats = nullptr;
}

void HeartbeatRun::work(int self, Heartbeat &beats) {
  for (int64_t step = 1; simulator.now() < end && !simulator.isGhost();
       ++step) {
    beats.begin(step);
    simulator.sleepUntil(simulator.now() +
                         simulator.between(milliseconds(5), milliseconds(60)));
    Status status = beats.check();
    if (simulator.isGhost())
      return;
    if (!status.ok())
      return hearsOfFailure(self, beats);
    write(self);
    beats.done({1, step, 1, 0.01, 0});
    for (const std::string &line : beats.takeNotes()) {
      simulator.trace(line);
      if (isCalm && line.find("no sign of life") != std::string::npos)
        simulator.fail("one that beats is suspected: " + line);
    }
  }
}

/// What one process alone may write: not one that the others have given up.
void HeartbeatRun::write(int self) {
  const Process &own = processes[self];
  const Duration told = 4 * network.latest + milliseconds(250);
  // A clock that is as slow hides how long it has slept.
  if (!own.lost || own.fault == Fault::Cut || own.machine->rate < 1)
    return;
  const Time woke = simulator.frozenUntil(self);
  if (*own.lost + told < woke && woke <= simulator.now())
    simulator.fail(nameOf(self) + " writes, and was given up while it slept");
}

void HeartbeatRun::hearsOfFailure(int self, Heartbeat &beats) {
  Process &own = processes[self];
  own.failed = simulator.now();
  own.result = beats.check();
  simulator.trace(own.result.message());
  if (isShort)
    simulator.fail(nameOf(self) +
                   " fails, and nothing was wrong: " + own.result.message());
  const std::vector<LostMember> lost = beats.findLost(/*waits=*/false);
  if (lost.empty())
    simulator.fail(nameOf(self) + " fails, and knows of no one lost");
  for (const LostMember &one : lost) {
    // Who has lost a frozen chief is gone when that wakes.
    const bool hasLostChief = processes[0].fault != Fault::None &&
                              one.why.find(" has lost ") != std::string::npos;
    // Of two neither knows which one is cut off.
    const bool isOneOfTwo =
        processes.size() == 2 && processes[1].fault == Fault::Cut;
    if (processes[one.member].fault == Fault::None &&
        own.fault == Fault::None && !hasLostChief && !isOneOfTwo)
      simulator.fail(nameOf(self) + " takes " + nameOf(one.member) +
                     " for lost: " + one.why);
    if (one.why.find(nameOf(one.member)) == std::string::npos)
      simulator.fail("another is named than " + nameOf(one.member) + ": " +
                     one.why);
  }
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

void HeartbeatRun::disturb(int victim) {
  Process &process = processes[victim];
  if (simulator.isGhost(victim) || simulator.isDone(victim) ||
      process.fault != Fault::None)
    return;
  const bool isLong = simulator.chance(0.7);
  const Duration time = isLong
                            ? simulator.between(milliseconds(500), seconds(12))
                            : simulator.between(milliseconds(1), kShort);
  const int points = int(simulator.below(40));
  isShort &= !isLong;
  isCalm = false;
  const int thread = process.machine->beating;
  const int one = thread >= 0 && simulator.chance(0.5) ? thread : victim;
  // Of a member from the chief: between machines.
  const int cut = std::max(victim, 1);
  const bool isOneMachine =
      processes[cut].machine->space() == processes[0].machine->space();
  switch (simulator.below(isOneMachine ? 3 : 4)) {
  case 0:
    isShort = false;
    return simulator.crashAfter(one, points);
  case 1:
    process.fault = Fault::Freeze;
    return simulator.freezeAfter(one, points, time);
  case 2:
    process.fault = Fault::Freeze;
    return simulator.freeze(victim, simulator.now() + time);
  default:
    processes[cut].fault = Fault::Cut;
    processes[cut].faultBegin = simulator.now();
    processes[cut].faultEnd = simulator.now() + time;
    network.cut(cut, 0);
    simulator.trace("a cut of " + nameOf(cut));
    simulator.at(simulator.now() + time, [this, cut] { network.join(cut, 0); });
  }
}

/// Their machine sleeps, or a debugger holds them all.
void HeartbeatRun::pauseAll() {
  const Time until =
      simulator.now() + simulator.between(milliseconds(10), seconds(15));
  end += until - simulator.now();
  for (int number = 0; number < int(processes.size()); ++number)
    if (!simulator.isGhost(number) && !simulator.isDone(number))
      simulator.freeze(number, until + simulator.between({}, milliseconds(50)));
}

void HeartbeatRun::planFaults() {
  auto later = [&](std::function<void()> what) {
    const Duration most = simulator.chance(0.2) ? milliseconds(50) : kWork / 2;
    simulator.at(simulator.now() + simulator.between({}, most),
                 std::move(what));
  };
  const int victim = int(simulator.below(processes.size()));
  if (simulator.chance(0.7))
    return later([this, victim] { disturb(victim); });
  if (simulator.chance(0.5))
    return later([this] { pauseAll(); });
}

void HeartbeatRun::sample() {
  Process &chief = processes[0];
  if (chief.beats && !simulator.isGhost(0))
    for (const LostMember &one : chief.beats->findLost(/*waits=*/false))
      if (Process &lost = processes[one.member]; !lost.lost)
        lost.lost = simulator.now();
  for (int number = 0; number < int(processes.size()); ++number) {
    Process &process = processes[number];
    const Time until = simulator.frozenUntil(number);
    if (process.fault == Fault::Freeze && !process.faultBegin &&
        until > simulator.now()) {
      process.faultBegin = simulator.now();
      process.faultEnd = until;
    }
  }
  if (simulator.now() < end + seconds(30))
    simulator.at(simulator.now() + kSample, [this] { sample(); });
}

//===----------------------------------------------------------------------===//
// What must hold
//===----------------------------------------------------------------------===//

std::optional<Duration> HeartbeatRun::bound(int victim, int self) const {
  const Process &process = processes[victim];
  // The chief looks for the others, they for it.
  const int looking = victim == 0 ? self : 0;
  const BeatMachine &looks = *processes[looking].machine;
  Duration longest = milliseconds(400) + 4 * network.latest +
                     6 * processes[self].machine->lateness + 6 * looks.lateness;
  if (process.fault == Fault::Crash)
    return longest;
  if (!isLookedAt(looking) || !isLookedAt(victim))
    return std::nullopt;
  const std::chrono::duration<double> silence((kPatience + 0.2) / looks.rate);
  return longest + std::chrono::duration_cast<Duration>(silence);
}

void HeartbeatRun::checkNoticed(int victim, int self) {
  const Process &process = processes[victim], &other = processes[self];
  const std::optional<Duration> longest = bound(victim, self);
  if (!longest || !other.joined || !process.joined)
    return;
  // A crash is noticed from the chief's answer on, whatever was said behind it;
  // silence only of one that has said where it runs.
  const Duration atTheDoor =
      process.fault == Fault::Crash && victim > 0 ? Duration() : seconds(1);
  if (*process.joined + atTheDoor > *process.faultBegin)
    return;
  // Of the chief a late one knows nothing; of the others it is told.
  if (victim == 0 && *other.joined + seconds(1) > *process.faultBegin)
    return;
  const Time latest =
      std::max(*process.faultBegin, *other.joined + seconds(1)) + *longest;
  if ((process.faultEnd && *process.faultEnd < latest) || latest >= end)
    return;
  if (!other.failed || *other.failed > latest)
    simulator.fail(nameOf(self) + " does not hear in time that " +
                   nameOf(victim) + " is lost");
}

void HeartbeatRun::checkEnd() {
  for (int self = 0; self < int(processes.size()); ++self) {
    if (simulator.isGhost(self))
      continue;
    if (!simulator.isDone(self))
      simulator.fail(nameOf(self) + " never ends");
    if (isShort && !processes[self].result.ok())
      simulator.fail("nothing was wrong, and " + nameOf(self) +
                     " fails: " + processes[self].result.message());
    for (int victim = 0; victim < int(processes.size()); ++victim)
      if (victim != self && processes[victim].faultBegin &&
          processes[self].fault == Fault::None)
        checkNoticed(victim, self);
  }
}

std::string HeartbeatRun::run() {
  for (int number = 0; number < int(processes.size()); ++number)
    makeProcess(number);
  sample();
  planFaults();
  simulator.run(simulator.now() + kLimit);
  if (simulator.failure().empty())
    checkEnd();
  return simulator.failure();
}

std::string simulateRun(uint64_t seed, bool isTraced) {
  return HeartbeatRun(seed, isTraced).run();
}

} // namespace dist::simulation
