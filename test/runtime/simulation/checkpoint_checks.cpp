//===- checkpoint_checks.cpp - What must hold of a folder of states -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/names.h"
#include "test/runtime/simulation/checkpoint_run.h"
#include <algorithm>

namespace dist::simulation {

/// Who comes to have the lock last has the folder.
void CheckpointRun::noteOpen(const std::string &path) {
  Group &group = *groups[size_t(groupOf.at(simulator.runningProcess()))];
  if (path != std::string(kFolder) + "/.lock" || group.isOpen)
    return;
  group.opens = ++opens;
  if (group.wasOthers)
    simulator.fail("run " + std::to_string(group.number) +
                   " takes the folder from another run");
}

/// A state takes its name: not by who has been replaced.
void CheckpointRun::checkRename(const std::string &from,
                                const std::string &to) {
  noteOpen(to);
  if (from.find("/.saving-") == std::string::npos ||
      to.find("/step-") == std::string::npos)
    return;
  const int group = groupOf.at(simulator.runningProcess());
  if (isReplaced(group))
    simulator.fail("run " + std::to_string(group) + " makes " + to +
                   " a state, and run " + std::to_string(begun) + " has begun");
  const int known = publishers.emplace(from, group).first->second;
  if (known != group)
    simulator.fail("runs " + std::to_string(known) + " and " +
                   std::to_string(group) + " are of one epoch: " + from);
}

/// Where there are no locks the newest of them says whose the folder is.
void CheckpointRun::takeClaim(const std::string &path) {
  if (path.find("/.claimed-") == std::string::npos)
    return;
  groups[size_t(groupOf.at(simulator.runningProcess()))]->claim =
      std::stoll(path.substr(path.rfind('-') + 1));
}

/// Who has the folder, all of whose processes are there, saves and goes on
/// while the disk has room, whatever those before it do.
void CheckpointRun::checkGoesOn(const Group &group, const Status &failed) {
  if (simulator.isGhost() || group.rounds.isBroken)
    return;
  if (isCalm)
    simulator.fail("nothing was wrong: " + failed.message());
  if (isAlone(group) && group.refusals == storage.refusals && !isOthers(group))
    simulator.fail("run " + std::to_string(group.number) +
                   " could have gone on: " + failed.message());
}

/// Whether no other has come to have the folder since.
bool CheckpointRun::isAlone(const Group &group) const {
  bool isAlone = group.opens == opens && (group.isOpen || group.takesOver);
  for (auto &other : groups)
    isAlone &= storage.hasLocks || other->claim <= group.claim;
  return isAlone;
}

/// Steps of states in the folder, whose names begin so.
std::set<int64_t> CheckpointRun::statesNow(const std::string &before) const {
  std::set<int64_t> steps;
  const std::string begin = before + "step-";
  for (const std::string &name : storage.peek(kFolder))
    if (name.compare(0, begin.size(), begin) == 0)
      steps.insert(std::stoll(name.substr(begin.size())));
  return steps;
}

/// At any time.
void CheckpointRun::checkNewest() {
  int64_t newest = -1;
  for (const char *before : {"", kReplaced, kAside})
    if (const std::set<int64_t> steps = statesNow(before); !steps.empty())
      newest = std::max(newest, *steps.rbegin());
  if (newest < lastSaved)
    simulator.fail("step " + std::to_string(lastSaved) +
                   " was saved, and is gone");
}

/// Behind a save: the newest states are there, unless they were damaged as
/// power was lost, and no others. Without locks one that was replaced as its
/// process was lost may have come back.
void CheckpointRun::checkKeeps(const Group &group, std::set<int64_t> before,
                               int64_t step) {
  if (simulator.isGhost() || group.rounds.isBroken || hasLostPower)
    return;
  before.insert(step);
  while (before.size() > size_t(keepFiles))
    before.erase(before.begin());
  const std::set<int64_t> kept = statesNow("");
  std::string text;
  for (int64_t one : kept)
    text += " " + std::to_string(one);
  if (isOverwritten())
    before = {step};
  const bool isThere =
      std::includes(kept.begin(), kept.end(), before.begin(), before.end());
  if (!isThere || (storage.hasLocks && !isOverwritten() && kept != before))
    simulator.fail("behind step " + std::to_string(step) +
                   " these states are kept, and not the newest:" + text);
}

/// Of a folder with locks, as its last run has left it.
void CheckpointRun::checkSwept() {
  for (const std::string &name : storage.peek(kFolder))
    for (const char *left : {kSaving, kRemoving, kReplaced})
      if (name.compare(0, std::string(left).size(), left) == 0)
        simulator.fail(name + " is left");
}

void CheckpointRun::checkLoaded(Group &group, GroupSession &session,
                                const Status &status,
                                const TrainingState &state, bool found) {
  // To one that has been replaced they go while it looks.
  if (simulator.isGhost() || group.rounds.isBroken || isReplaced(group.number))
    return;
  if (status.code() == StatusCode::InvalidInput && !isOverwritten())
    simulator.fail("what was saved is not sound: " + status.message());
  if (!status.ok())
    return;
  if (lastSaved >= 0 && (!found || state.step < lastSaved))
    simulator.fail("step " + std::to_string(lastSaved) + " was saved, and " +
                   (found ? "step " + std::to_string(state.step) : "nothing") +
                   " is there");
  if (found && !session.holds(state.step))
    simulator.fail("a state has values of another");
}

} // namespace dist::simulation
