//===- checkpoint_run.cpp - Saving, simulated -----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shipped folder of states, in runs of one to three processes that go on
// one after another, some while processes of the one before are only frozen, on
// one disk: with and without locks, full at times, and without power; without
// locks several at one moment, too. What every variable holds is the step that
// it was saved in.
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/checkpoint.h"
#include "test/runtime/fake_session.h"
#include "test/runtime/simulation/run.h"
#include "test/runtime/simulation/storage.h"
#include <algorithm>
#include <optional>

namespace dist::simulation {

namespace {

constexpr char kFolder[] = "/states";
constexpr seconds kWork{1};
constexpr std::chrono::minutes kLimit{5};

class CheckpointRun {
public:
  CheckpointRun(uint64_t seed, bool isTraced);
  ~CheckpointRun() { simulator.crashAll(); }
  std::string run();

private:
  /// The processes of one epoch.
  struct Group {
    int number = 0;
    FolderUse use = FolderUse::Resume;
    std::vector<int> processes; // the simulator's
    std::vector<std::vector<std::optional<std::string>>> rounds;
    bool isBroken = false;
    int64_t claim = 0; // the epoch that it has made its own, without locks
  };
  class GroupSession;

  Group &start(FolderUse use);
  void startLater(FolderUse use, Duration least);
  void live(Group &group, int self);
  Status work(Group &group, GroupSession &session, CheckpointFolder &folder,
              int64_t step);
  void checkLoaded(Group &group, GroupSession &session, const Status &status,
                   const TrainingState &state, bool found);
  void checkRename(const std::string &from, const std::string &to);
  void takeClaim(const std::string &path);
  /// Whether one that has begun is to be there after this one.
  bool isReplaced(int group) const {
    if (begun < 0 || storage.hasLocks)
      return group < begun;
    return groups[size_t(group)]->claim < groups[size_t(begun)]->claim;
  }
  void planFaults();
  void disturb();
  std::vector<int> alive() const;

  Simulator simulator;
  Storage storage;
  std::vector<std::unique_ptr<Group>> groups;
  std::map<int, int> groupOf; // by process
  Time end;
  int keep = 1;
  int begun = -1;         // the newest group that has begun
  int64_t lastSaved = -1; // as a chief was told
  bool isCalm = true, isOver = false;
};

class CheckpointRun::GroupSession final : public FakeSession {
public:
  GroupSession(CheckpointRun &run, Group &group, int self)
      : FakeSession(4, 4, 1, int(group.processes.size())), run(run),
        group(group), self(self) {
    local = {self};
  }
  int process() const override { return self; }
  int processes() const override { return int(group.processes.size()); }
  Status exchange(const std::string &mine,
                  std::vector<std::string> *all) override {
    const size_t round = next++;
    if (group.rounds.size() <= round)
      group.rounds.resize(round + 1);
    group.rounds[round].resize(group.processes.size());
    if (!run.simulator.isGhost())
      group.rounds[round][size_t(self)] = mine;
    auto isWhole = [&] {
      auto &texts = group.rounds[round];
      return std::all_of(texts.begin(), texts.end(),
                         [](auto &text) { return text.has_value(); });
    };
    while (!isWhole() && !group.isBroken && !run.simulator.isGhost())
      run.simulator.sleepUntil(run.simulator.now() + milliseconds(1));
    if (!isWhole() || run.simulator.isGhost())
      return Status::error(StatusCode::Unavailable, "a process is lost", "",
                           "");
    all->clear();
    for (auto &text : group.rounds[round])
      all->push_back(*text);
    return Status();
  }
  void hold(int64_t step) {
    for (Ranks &rank : state)
      rank[W] = rank[Total] = double(step);
  }
  bool holds(int64_t step) const {
    const Ranks &rank = state[size_t(self)];
    return rank[W] == double(step) && rank[Total] <= 3 * double(step) &&
           (step == 0 || int64_t(rank[Total]) % step == 0);
  }

private:
  CheckpointRun &run;
  Group &group;
  const int self;
  size_t next = 0;
};

} // namespace

CheckpointRun::CheckpointRun(uint64_t seed, bool isTraced)
    : simulator(seed, isTraced), storage(simulator) {
  storage.hasLocks = simulator.chance(0.6);
  storage.hasRenameFlags = simulator.chance(0.6);
  storage.onRename = [this](const std::string &from, const std::string &to) {
    checkRename(from, to);
  };
  storage.onMake = [this](const std::string &path) { takeClaim(path); };
  keep = 1 + int(simulator.below(3));
  end = simulator.now() + kWork;
  simulator.onCrash = [this](int number) {
    storage.crash(number);
    if (auto group = groupOf.find(number); group != groupOf.end())
      groups[size_t(group->second)]->isBroken = true;
  };
}

CheckpointRun::Group &CheckpointRun::start(FolderUse use) {
  groups.push_back(std::make_unique<Group>());
  Group &group = *groups.back();
  group.number = int(groups.size()) - 1;
  group.use = use;
  const int count = 1 + int(simulator.below(3));
  for (int self = 0; self < count; ++self) {
    const std::string name = "run " + std::to_string(group.number) +
                             "'s process " + std::to_string(self);
    group.processes.push_back(
        simulator.start(name, [this, &group, self] { live(group, self); }));
    groupOf[group.processes.back()] = group.number;
  }
  return group;
}

void CheckpointRun::startLater(FolderUse use, Duration least) {
  const Duration wait = least + simulator.between({}, milliseconds(500));
  end = std::max(end, simulator.now() + wait + seconds(1));
  simulator.at(simulator.now() + wait, [this, use] {
    start(use);
    if (!storage.hasLocks && simulator.chance(0.3))
      start(use);
  });
}

void CheckpointRun::live(Group &group, int self) {
  GroupSession session(*this, group, self);
  std::unique_ptr<CheckpointFolder> folder;
  std::vector<std::string> notes;
  TrainingState state;
  bool found = false;
  Status status =
      CheckpointFolder::open(kFolder, group.use, session, &folder, &notes);
  if (status.ok()) {
    status = folder->load(session, &state, &found, &notes);
    checkLoaded(group, session, status, state, found);
  }
  if (status.ok())
    status = folder->begin(session);
  if (status.ok() && !simulator.isGhost()) {
    if (!isReplaced(group.number))
      begun = group.number;
    status = work(group, session, *folder, found ? state.step : 0);
  }
  if (!status.ok() && !simulator.isGhost())
    group.isBroken = true;
  simulator.trace(status.ok() ? "ends well" : status.message());
  if (!status.ok() && isCalm)
    simulator.fail("nothing was wrong: " + status.message());
}

Status CheckpointRun::work(Group &group, GroupSession &session,
                           CheckpointFolder &folder, int64_t step) {
  // The chief says when it is over, and which step is next.
  while (!simulator.isGhost()) {
    std::vector<std::string> said;
    const bool isLast = isOver || simulator.now() >= end;
    const bool isAgain = step > 0 && simulator.chance(0.3);
    const int64_t next =
        isLast ? -1 : step + (isAgain ? 0 : 1 + int64_t(simulator.below(3)));
    DIST_RETURN_IF_ERROR(session.exchange(std::to_string(next), &said));
    step = std::stoll(said[0]);
    if (step < 0)
      return Status();
    simulator.sleepUntil(simulator.now() +
                         simulator.between({}, milliseconds(20)));
    session.hold(step);
    TrainingState state;
    state.step = step;
    Status failure;
    DIST_RETURN_IF_ERROR(folder.beginSave(session, state, /*beside=*/false));
    DIST_RETURN_IF_ERROR(folder.finishSave(keep, session, &failure));
    if (simulator.isGhost())
      break;
    if (session.process() == 0)
      simulator.trace(failure.ok() ? "has saved step " + std::to_string(step)
                                   : failure.message());
    if (failure.ok())
      lastSaved = std::max(lastSaved, step);
    else if (isCalm)
      simulator.fail("nothing was wrong: " + failure.message());
  }
  return Status();
}

/// A state takes its name: not by who has been replaced.
void CheckpointRun::checkRename(const std::string &from,
                                const std::string &to) {
  if (from.find("/.saving-") == std::string::npos ||
      to.find("/step-") == std::string::npos)
    return;
  const int group = groupOf.at(simulator.runningProcess());
  if (isReplaced(group))
    simulator.fail("run " + std::to_string(group) + " makes " + to +
                   " a state, and run " + std::to_string(begun) + " has begun");
}

/// Where there are no locks the newest of them says whose the folder is.
void CheckpointRun::takeClaim(const std::string &path) {
  if (path.find("/.claimed-") == std::string::npos)
    return;
  groups[size_t(groupOf.at(simulator.runningProcess()))]->claim =
      std::stoll(path.substr(path.rfind('-') + 1));
}

void CheckpointRun::checkLoaded(Group &group, GroupSession &session,
                                const Status &status,
                                const TrainingState &state, bool found) {
  // To one that has been replaced they go while it looks.
  if (simulator.isGhost() || group.isBroken || isReplaced(group.number))
    return;
  if (status.code() == StatusCode::InvalidInput)
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

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

std::vector<int> CheckpointRun::alive() const {
  std::vector<int> all;
  for (auto &[process, group] : groupOf)
    if (!simulator.isGhost(process) && !simulator.isDone(process))
      all.push_back(process);
  return all;
}

void CheckpointRun::disturb() {
  const std::vector<int> there = alive();
  if (there.empty())
    return;
  // The chief has most to do.
  const Group &newest = *groups.back();
  const bool isChief = simulator.chance(0.7);
  const int victim =
      isChief ? newest.processes[0] : there[simulator.below(there.size())];
  const int points = int(simulator.below(120));
  isCalm = false;
  switch (simulator.below(5)) {
  case 0:
    simulator.crashAfter(victim, points);
    return startLater(FolderUse::Resume, seconds(1));
  case 1:
    simulator.freezeAfter(victim, points,
                          simulator.between(milliseconds(100), seconds(6)));
    groups.back()->isBroken |= simulator.chance(0.3);
    return startLater(FolderUse::TakeOver, milliseconds(200));
  case 2:
    for (int process : there)
      simulator.crash(process);
    storage.losePower();
    return startLater(FolderUse::Resume, {});
  case 3:
    storage.isFull = true;
    return simulator.at(simulator.now() +
                            simulator.between({}, simulator.chance(0.5)
                                                      ? milliseconds(5)
                                                      : milliseconds(200)),
                        [this] { storage.isFull = false; });
  default: // someone starts it once more
    return startLater(FolderUse::Resume, {});
  }
}

void CheckpointRun::planFaults() {
  const int count = simulator.chance(0.1) ? 0 : 1 + int(simulator.below(5));
  for (int i = 0; i < count; ++i)
    simulator.at(simulator.now() + simulator.between({}, kWork),
                 [this] { disturb(); });
}

std::string CheckpointRun::run() {
  start(FolderUse::Resume);
  planFaults();
  simulator.run(simulator.now() + kLimit);
  // Whatever has happened: who comes now finds what was saved.
  if (simulator.failure().empty()) {
    isOver = true;
    simulator.trace("the last one");
    Group &last = start(FolderUse::TakeOver);
    simulator.run(simulator.now() + kLimit);
    if (begun != last.number)
      simulator.fail("the last run does not begin");
  }
  return simulator.failure();
}

std::string simulateRun(uint64_t seed, bool isTraced) {
  return CheckpointRun(seed, isTraced).run();
}

} // namespace dist::simulation
