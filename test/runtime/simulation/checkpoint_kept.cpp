//===- checkpoint_kept.cpp - Those that are left go on --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As dist-run does it under --elastic: what each has in memory goes into a
// folder of its own, and those that are left meet, as in membership_run.cpp, at
// times with one that comes anew. They agree on the newest step that all had.
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/checkpoint_run.h"
#include <algorithm>
#include <utility>

namespace dist::simulation {

/// Such runs end all the same.
static constexpr size_t kMostGroups = 12;

Status CheckpointRun::keep(GroupSession &session, Own &own, int64_t step) {
  TrainingState state;
  state.step = step;
  DIST_RETURN_IF_ERROR(own.kept.keep(session, state));
  own.keptSteps.push_back(step);
  if (own.keptSteps.size() > 2)
    own.keptSteps.erase(own.keptSteps.begin());
  return Status();
}

/// A folder in the memory of its machine.
Status CheckpointRun::makeMemory(int process, Own &own) {
  if (!own.folder.empty())
    removeAll(own.folder);
  own.folder = "/memory-" + std::to_string(process) + "-" +
               std::to_string(own.folders++);
  return makeFolders(own.folder);
}

Status CheckpointRun::store(int process, Own &own) {
  // One that cannot keep a state has the one before.
  if (own.kept.empty() && !own.keptSteps.empty())
    simulator.fail("what was kept is gone");
  // Lost before a step was done, again: what is in the folder stays.
  if (own.kept.empty())
    return own.folder.empty() ? makeMemory(process, own) : Status();
  DIST_RETURN_IF_ERROR(makeMemory(process, own));
  DIST_RETURN_IF_ERROR(own.kept.write(own.folder));
  own.stored = std::exchange(own.keptSteps, {});
  return Status();
}

/// Whether none is left that the others wait for: who is stopped now is given
/// up.
bool CheckpointRun::allCame(const Group &group) {
  auto isAwaited = [&](int process) {
    return !group.came.count(process) && !isGone(process) &&
           simulator.frozenUntil(process) <= simulator.now();
  };
  return std::none_of(group.processes.begin(), group.processes.end(),
                      isAwaited);
}

void CheckpointRun::formNext(Group &before) {
  Group &next = add(/*takesOver=*/true);
  before.next = &next;
  next.isMet = true;
  end = std::max(end, simulator.now() + milliseconds(300));
  auto take = [&](int process) {
    next.stored.push_back(owns[process].stored);
    next.processes.push_back(process);
    groupOf[process] = next.number;
  };
  for (int process : before.processes)
    if (before.came.count(process) && !isGone(process))
      take(process);
  // One that is started anew has its place in the order of tasks, behind the
  // chief.
  if (next.processes.size() < 3 && simulator.chance(0.5)) {
    const size_t place = 1 + size_t(simulator.below(next.processes.size()));
    next.processes.insert(next.processes.begin() + long(place), -1);
    next.stored.insert(next.stored.begin() + long(place), Steps());
    next.processes[place] = startProcess(next, int(place));
  }
  // Another one is lost before they have begun, the first above all.
  if (simulator.chance(0.4)) {
    const size_t count = next.processes.size();
    const size_t lost = simulator.chance(0.6) ? 0 : simulator.below(count);
    simulator.crashAfter(next.processes[lost], int(simulator.below(100)));
  }
}

/// Null: the others go on without it.
CheckpointRun::Group *CheckpointRun::meetAgain(Group &before, int *self) {
  const int process = before.processes[size_t(*self)];
  before.came.insert(process);
  // Another run may come first.
  if (runsAfter > 0)
    simulator.sleepUntil(simulator.now() +
                         simulator.between({}, milliseconds(300)));
  while (!before.next && !simulator.isGhost()) {
    if (groups.size() < kMostGroups && allCame(before))
      formNext(before);
    else if (groups.size() >= kMostGroups)
      return nullptr;
    else
      simulator.sleepUntil(simulator.now() + milliseconds(1));
  }
  if (!before.next)
    return nullptr;
  const std::vector<int> &members = before.next->processes;
  auto place = std::find(members.begin(), members.end(), process);
  *self = int(place - members.begin());
  return place == members.end() ? nullptr : before.next;
}

/// What they go back to is the newest that all have that have anything: nothing
/// where some are behind a newer state that was saved.
void CheckpointRun::checkKept(const Group &group, GroupSession &session,
                              bool found, int64_t step) {
  if (simulator.isGhost())
    return;
  std::map<int64_t, size_t> counts;
  size_t owners = 0;
  for (const Steps &steps : group.stored) {
    owners += !steps.empty();
    for (int64_t one : std::set<int64_t>(steps.begin(), steps.end()))
      ++counts[one];
  }
  int64_t expected = -1;
  for (auto &[one, count] : counts)
    if (count == owners)
      expected = one;
  const int64_t got = found ? step : -1;
  if (got != expected)
    simulator.fail("step " + std::to_string(expected) +
                   " is in memory, and run " + std::to_string(group.number) +
                   " goes back to " + std::to_string(got));
  if (found && !session.holds(step))
    simulator.fail("a state in memory has values of another");
}

} // namespace dist::simulation
