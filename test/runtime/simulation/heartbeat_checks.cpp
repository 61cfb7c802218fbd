//===- heartbeat_checks.cpp - What holds of processes that watch others ---===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/heartbeat_run.h"
#include <algorithm>

namespace dist::simulation {

using namespace cluster;

//===----------------------------------------------------------------------===//
// While they run
//===----------------------------------------------------------------------===//

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
  if (self == 0)
    checkWokenChief();
  const std::vector<LostMember> lost = beats.findLost(/*waits=*/false);
  if (lost.empty())
    simulator.fail(nameOf(self) + " fails, and knows of no one lost");
  for (const LostMember &one : lost) {
    // Who has lost a frozen chief is gone when that wakes.
    const bool hasLostChief = processes[0].fault != Fault::None &&
                              one.why.find(" has lost ") != std::string::npos;
    // Of two neither knows which one is cut off.
    bool isOneOfTwo = true;
    for (int other = 1; other < int(processes.size()); ++other)
      isOneOfTwo &=
          processes[other].fault == Fault::Cut || !processes[other].joined;
    if (processes[one.member].fault == Fault::None &&
        own.fault == Fault::None && !hasLostChief && !isOneOfTwo)
      simulator.fail(nameOf(self) + " takes " + nameOf(one.member) +
                     " for lost: " + one.why);
    if (one.why.find(nameOf(one.member)) == std::string::npos)
      simulator.fail("another is named than " + nameOf(one.member) + ": " +
                     one.why);
  }
}

/// It slept until all others had given it up and were gone: it is the one that
/// is out, whichever of them saw it and whichever heard of it.
void HeartbeatRun::checkWokenChief() {
  const Time woke = simulator.frozenUntil(0);
  const Duration told = 4 * network.latest + milliseconds(250);
  if (woke > simulator.now())
    return;
  for (int other = 1; other < int(processes.size()); ++other)
    if (processes[other].fault != Fault::None || !processes[other].failed ||
        !processes[other].ended || *processes[other].ended + told >= woke)
      return;
  if (processes[0].result.message().find("none of the cluster") ==
      std::string::npos)
    simulator.fail("the chief slept until all were gone, and says: " +
                   processes[0].result.message());
}

//===----------------------------------------------------------------------===//
// At the end
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

} // namespace dist::simulation
