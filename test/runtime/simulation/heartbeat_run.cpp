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
#include "test/runtime/simulation/heartbeat_run.h"
#include "test/runtime/simulation/run.h"
#include <algorithm>

namespace dist::simulation {

using namespace cluster;

HeartbeatRun::HeartbeatRun(uint64_t seed, bool isTraced)
    : simulator(seed, isTraced), network(simulator) {
  network.latest = simulator.between(microseconds(200), milliseconds(20));
  end = simulator.now() + kWork;
  isBusy = simulator.chance(0.2);
  isTalkative = simulator.chance(0.5);
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
  beats.reset();
  own.ended = simulator.now();
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
    if (self != 0 && isTalkative && hearsFromOthers(self))
      return;
    write(self);
    beats.done({1, step, 1, 0.01, 0});
    for (const std::string &line : beats.takeNotes()) {
      simulator.trace(line);
      if (isCalm && line.find("no sign of life") != std::string::npos)
        simulator.fail("one that beats is suspected: " + line);
    }
  }
}

/// As the others' communicators tell it, before its own heartbeat sees it: that
/// the chief is frozen.
bool HeartbeatRun::hearsFromOthers(int self) {
  if (processes[0].fault != Fault::Freeze)
    return false;
  for (int other = 0; other < int(processes.size()); ++other)
    if (other != self && processes[other].failed && simulator.chance(0.5)) {
      processes[self].failed = simulator.now();
      processes[self].result = processes[other].result;
      simulator.trace("it hears from " + nameOf(other));
      return true;
    }
  return false;
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

std::string HeartbeatRun::run() {
  for (int number = 0; number < int(processes.size()); ++number)
    makeProcess(number);
  sample();
  planFaults();
  return simulator.judge(kLimit, [this] { checkEnd(); });
}

std::string simulateRun(uint64_t seed, bool isTraced) {
  return HeartbeatRun(seed, isTraced).run();
}

} // namespace dist::simulation
