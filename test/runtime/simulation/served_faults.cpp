//===- served_faults.cpp - What befalls simulated parameter servers -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/served_run.h"
#include <algorithm>
#include <set>

namespace dist::simulation {

void ServedRun::planReturn(int index) {
  if (comers.size() == kMostComers)
    return;
  const size_t number = comers.size();
  Comer &comer = comers.emplace_back();
  comer.who.index = index;
  comer.who.id = "return " + std::to_string(number);
  comer.process = simulator.start(nameOf(options.cast.worker(index)) + " again",
                                  [this, number] { comeBack(number); });
  if (simulator.chance(0.2))
    simulator.crashAfter(comer.process, int(simulator.below(60)));
}

void ServedRun::admitted(const Returning &who, int rank) {
  const Cast &cast = options.cast;
  if (simulator.isGhost())
    return;
  simulator.trace(who.id + " has rank " + std::to_string(rank));
  bool isFresh = rank >= cast.ranks();
  for (const Comer &comer : comers)
    isFresh &= comer.rank != rank;
  if (!isFresh)
    simulator.fail("rank " + std::to_string(rank) + " is another's already");
  for (int server = 0; server < cast.servers; ++server)
    if (int known = wire.knownTo(cast.server(server)); known && known <= rank)
      simulator.fail(nameOf(cast.server(server)) + " does not know " + who.id);
  for (Comer &comer : comers) {
    if (comer.who.id != who.id)
      continue;
    if (comer.rank >= 0)
      simulator.fail(who.id + " is taken twice");
    comer.rank = rank;
  }
}

/// Up to four: crashes and freezes of processes at a point that they pass, and
/// connections that end at a time.
void ServedRun::planFaults() {
  const Cast &cast = options.cast;
  std::set<int> unusable; // workers
  for (int count = int(simulator.below(5)); count > 0; --count) {
    int victim = int(simulator.below(uint64_t(cast.ranks())));
    int points = int(simulator.below(uint64_t(40 + 20 * closures)));
    bool isWorker = cast.workerOf(victim) >= 0;
    switch (simulator.below(4)) {
    case 0:
      simulator.crashAfter(victim, points);
      break;
    case 1: {
      bool isForever = isWorker && simulator.chance(0.3);
      simulator.freezeAfter(
          victim, points,
          isForever ? Duration::max()
                    : simulator.between(milliseconds(1), seconds(60)));
      if (!isForever)
        continue;
      break;
    }
    case 2: {
      int other = int(simulator.below(uint64_t(cast.ranks())));
      if (other == victim)
        continue;
      if (!isWorker)
        std::swap(victim, other);
      isWorker = cast.workerOf(victim) >= 0;
      simulator.at(simulator.now() + simulator.between(Duration(), seconds(2)),
                   [this, victim, other] { wire.cut(victim, other); });
      break;
    }
    default:
      continue; // a calm one
    }
    // Once, or the next one is lost, too.
    while (isWorker && simulator.chance(0.6))
      planReturn(cast.workerOf(victim));
    if (isWorker)
      unusable.insert(victim);
    else
      mayFail = true;
  }
  mayFail |= int(unusable.size()) == cast.workers || failing >= 0;
}

bool ServedRun::waitsForFrozen() const {
  bool isOneFrozen = false;
  for (int index = 0; index < options.cast.workers; ++index) {
    int rank = options.cast.worker(index);
    if (simulator.isDone(rank) || simulator.isGhost(rank))
      continue;
    if (!simulator.isFrozenForever(rank))
      return false;
    isOneFrozen = true;
  }
  for (const Comer &comer : comers)
    if (comer.rank >= 0 && !simulator.isDone(comer.process) &&
        !simulator.isGhost(comer.process))
      return false;
  return isOneFrozen;
}

void ServedRun::checkEnd() {
  const Cast &cast = options.cast;
  if (waitsForFrozen() && !simulator.isDone(Cast::coordinator) &&
      !isOut(Cast::coordinator)) {
    if (!hasNamedLate)
      simulator.fail("the run waits for a worker and does not say so");
    return;
  }
  for (int rank = 0; rank < cast.ranks(); ++rank)
    if (!isOut(rank) && !simulator.isDone(rank))
      simulator.fail(nameOf(rank) + " never ends");
  for (const Comer &comer : comers)
    if (!simulator.isGhost(comer.process) && !simulator.isDone(comer.process))
      simulator.fail(comer.who.id + " never ends");
  if (isOut(Cast::coordinator))
    return;
  if (hasFailed && !mayFail)
    simulator.fail("the run could have gone on: " + results[0].message());
  if (!endedWell)
    return;
  if (failing >= 0)
    simulator.fail("the error of a closure is told to nobody");
  if (std::count_if(told.begin(), told.end(), [](int64_t closure) {
        return closure < kFirstUnpushed;
      }) != closures)
    simulator.fail("not all closures are done");
  for (int rank = 1; rank < cast.ranks(); ++rank)
    if (!isOut(rank) && !results[rank].ok() && !mayFail &&
        cast.serverOf(rank) >= 0)
      simulator.fail(nameOf(rank) + " has an error of a run that went well: " +
                     results[rank].message());
}

} // namespace dist::simulation
