//===- checkpoint_run.cpp - Saving, simulated -----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shipped folder of states, in runs of one to three processes that go on
// one after another, some while processes of the one before are only frozen, on
// one disk: with and without locks, full or slow at times, and without power;
// without locks several at one moment, too. Some save beside their steps, and
// some go on without who is lost, from what they have in memory. What every
// variable holds is the step that it was saved in.
//
//===----------------------------------------------------------------------===//
#include "test/runtime/simulation/checkpoint_run.h"
#include "runtime/checkpoint/names.h"
#include "test/runtime/simulation/run.h"
#include <algorithm>

namespace dist::simulation {

static constexpr seconds kWork{1};
static constexpr std::chrono::minutes kLimit{5};

CheckpointRun::CheckpointRun(uint64_t seed, bool isTraced)
    : simulator(seed, isTraced), storage(simulator),
      isElastic(simulator.chance(0.5)), isBeside(simulator.chance(0.5)),
      runsAfter(countRuns(seed)) {
  storage.hasLocks = simulator.chance(0.6);
  storage.hasRenameFlags = simulator.chance(0.6);
  storage.onRename = [this](const std::string &from, const std::string &to) {
    checkRename(from, to);
  };
  storage.onChange = [this] { checkNewest(); };
  storage.onWait = [this] {
    const int process = simulator.runningProcess();
    if (betweenSteps.count(process) &&
        !groups[size_t(groupOf.at(process))]->rounds.isBroken)
      simulator.fail("a step waits for the disk");
  };
  storage.onLock = [this](const std::string &path) { noteOpen(path); };
  storage.onMake = [this](const std::string &path) { takeClaim(path); };
  keepFiles = 1 + int(simulator.below(3));
  end = simulator.now() + kWork;
  simulator.onCrash = [this](int number) {
    storage.crash(number);
    if (auto group = groupOf.find(number); group != groupOf.end())
      lose(number);
  };
}

void CheckpointRun::lose(int process) {
  Group &group = *groups[size_t(groupOf.at(process))];
  group.hasLost = group.rounds.isBroken = true;
}

CheckpointRun::Group &CheckpointRun::add(bool takesOver) {
  groups.push_back(std::make_unique<Group>());
  groups.back()->number = int(groups.size()) - 1;
  groups.back()->takesOver = takesOver;
  return *groups.back();
}

int CheckpointRun::startProcess(Group &group, int self) {
  const std::string name = "run " + std::to_string(group.number) +
                           "'s process " + std::to_string(self);
  const int number =
      simulator.start(name, [this, &group, self] { live(&group, self); });
  groupOf[number] = group.number;
  return number;
}

CheckpointRun::Group &CheckpointRun::start(bool takesOver) {
  Group &group = add(takesOver);
  group.overwrites =
      runsAfter > 0 && !isOver && uint64_t(group.number) % runsAfter == 1;
  const int count =
      isElastic ? 2 + int(simulator.below(2)) : 1 + int(simulator.below(3));
  group.stored.resize(size_t(count));
  for (int self = 0; self < count; ++self)
    group.processes.push_back(startProcess(group, self));
  return group;
}

void CheckpointRun::startLater(bool takesOver, Duration least) {
  const Duration wait = least + simulator.between({}, milliseconds(500));
  end = std::max(end, simulator.now() + wait + seconds(1));
  simulator.at(simulator.now() + wait, [this, takesOver] {
    start(takesOver);
    if (!storage.hasLocks && simulator.chance(0.3))
      start(takesOver);
  });
}

void CheckpointRun::live(Group *group, int self) {
  const int process = group->processes[size_t(self)];
  Own &own = owns[process];
  own.claim.use = group->overwrites ? FolderUse::Overwrite : FolderUse::Resume;
  // Who comes to a meeting of others has nothing yet.
  Status status = group->isMet ? makeMemory(process, own) : Status();
  for (; group; status = Status()) {
    if (status.ok())
      status = liveIn(*group, self, own);
    simulator.trace(status.ok() ? "ends well" : status.message());
    if (simulator.isGhost())
      return;
    if (!status.ok())
      checkGoesOn(*group, status);
    const bool isLoss = !status.ok() && isElastic && !isOver && group->hasLost;
    if (!status.ok() && !isLoss)
      group->rounds.isBroken = true;
    if (!isLoss || !store(process, own).ok())
      return;
    group = meetAgain(*group, &self);
  }
}

Status CheckpointRun::liveIn(Group &group, int self, Own &own) {
  GroupSession session(simulator, group.rounds, self,
                       int(group.processes.size()));
  std::unique_ptr<CheckpointFolder> folder;
  std::vector<std::string> notes;
  TrainingState state;
  bool found = false;
  if (self == 0 && !simulator.isGhost()) {
    group.opens = ++opens;
    group.refusals = storage.refusals;
    group.wasOthers = group.isMet && isOthers(group);
  }
  FolderClaim claim = own.claim;
  claim.takesOver = group.takesOver;
  DIST_RETURN_IF_ERROR(
      CheckpointFolder::open(kFolder, claim, session, &folder, &notes));
  group.isOpen = true;
  group.overwrites = !folder->resumes();
  takeRun(group, own, folder->claimAgain());
  if (!group.overwrites)
    DIST_RETURN_IF_ERROR(goBack(group, session, own, *folder, &state, &found));
  DIST_RETURN_IF_ERROR(begin(group, session, *folder));
  if (simulator.isGhost())
    return Status();
  takeRun(group, own, folder->claimAgain());
  if (!isReplaced(group.number))
    begun = group.number;
  Saves saves(session, *folder, keepFiles, [&](const std::string &line) {
    simulator.trace(line);
    checkGoesOn(group, Status::error(StatusCode::Unavailable, line, "", ""));
  });
  Status status = work(group, session, saves, own, found ? state.step : 0);
  // As the trainer does: what was saved before an error is good.
  if (!status.ok())
    (void)saves.finish(nullptr);
  return status;
}

/// To what those that are left have in memory, or to a saved state, whichever
/// is newer.
Status CheckpointRun::goBack(Group &group, GroupSession &session, Own &own,
                             CheckpointFolder &folder, TrainingState *state,
                             bool *found) {
  std::vector<std::string> notes;
  if (!own.folder.empty()) {
    Kept kept = Kept::Nothing;
    Status status = loadKept(own.folder, session, state, &kept, &notes);
    *found = kept == Kept::Whole;
    // What another has handed over stays, whatever comes of the meeting.
    if (own.stored.empty())
      own.stored = listStates(own.folder);
    DIST_RETURN_IF_ERROR(status);
    checkKept(group, session, *found, state->step);
  }
  const bool isKept = *found;
  Status status =
      folder.load(session, state, found, &notes, isKept ? state->step : -1);
  *found |= isKept;
  checkLoaded(group, session, status, *state, *found);
  return status;
}

Status CheckpointRun::work(Group &group, GroupSession &session, Saves &saves,
                           Own &own, int64_t step) {
  session.hold(step);
  if (isElastic)
    DIST_RETURN_IF_ERROR(keep(session, own, step));
  // The chief says when it is over, which step is next, and what is done then.
  while (!simulator.isGhost()) {
    betweenSteps.insert(simulator.runningProcess());
    Status finished = saves.finishWritten();
    betweenSteps.erase(simulator.runningProcess());
    DIST_RETURN_IF_ERROR(finished);
    noteSaved(saves);
    const bool isLast = isOver || simulator.now() >= end;
    const bool isAgain = step > 0 && simulator.chance(0.3);
    const int64_t next =
        isLast ? -1 : step + (isAgain ? 0 : 1 + int64_t(simulator.below(3)));
    // One statement a draw: a seed is the same run whatever compiled it.
    std::string mine = std::to_string(next);
    mine += simulator.chance(0.5) ? " keep" : "";
    mine += simulator.chance(0.7) ? " save" : "";
    mine += simulator.chance(0.8) ? " beside" : "";
    std::vector<std::string> said;
    DIST_RETURN_IF_ERROR(session.exchange(mine, &said));
    auto isSaid = [&](const char *what) {
      return said[0].find(what) != std::string::npos;
    };
    step = std::stoll(said[0]);
    if (step < 0) {
      DIST_RETURN_IF_ERROR(saves.finish(nullptr));
      noteSaved(saves);
      return Status();
    }
    simulator.sleepUntil(simulator.now() +
                         simulator.between({}, milliseconds(20)));
    session.hold(step);
    if (isElastic && isSaid("keep"))
      DIST_RETURN_IF_ERROR(keep(session, own, step));
    if (isSaid("save"))
      DIST_RETURN_IF_ERROR(
          save(group, session, saves, step, isBeside && isSaid("beside")));
  }
  return Status();
}

Status CheckpointRun::save(Group &group, GroupSession &session, Saves &saves,
                           int64_t step, bool beside) {
  TrainingState state;
  state.step = step;
  // The one under way is finished before.
  DIST_RETURN_IF_ERROR(saves.begin(state, beside));
  noteSaved(saves);
  if (beside)
    return Status();
  Status failure;
  const bool wasAlone = isAlone(group);
  const std::set<int64_t> before = statesNow("");
  DIST_RETURN_IF_ERROR(saves.finish(&failure));
  noteSaved(saves);
  if (!failure.ok())
    checkGoesOn(group, failure);
  else if (session.process() == 0 && wasAlone && isAlone(group))
    checkKeeps(group, before, step);
  return Status();
}

void CheckpointRun::noteSaved(const Saves &saves) {
  // What another run has removed was saved before.
  const int group = groupOf.at(simulator.runningProcess());
  if (simulator.isGhost() || saves.saved() <= lastSaved ||
      isBefore(group, overwriter))
    return;
  lastSaved = saves.saved();
  simulator.trace("has saved step " + std::to_string(lastSaved));
}

std::string CheckpointRun::run() {
  start(/*takesOver=*/false);
  planFaults();
  simulator.run(simulator.now() + kLimit);
  for (auto &[process, group] : groupOf)
    if (!isGone(process))
      simulator.fail("process " + std::to_string(process) + " never ends");
  // Whatever has happened: who comes now finds what was saved.
  if (simulator.failure().empty()) {
    isOver = true;
    storage.refusesIn = -1;
    simulator.trace("the last one");
    Group &last = start(/*takesOver=*/true);
    simulator.run(simulator.now() + kLimit);
    if (begun != last.number)
      simulator.fail("the last run does not begin");
    if (storage.hasLocks)
      checkSwept();
  }
  return simulator.failure();
}

std::string simulateRun(uint64_t seed, bool isTraced) {
  return CheckpointRun(seed, isTraced).run();
}

} // namespace dist::simulation
