//===- checkpoint_run.h - Saving, simulated ---------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SIMULATION_CHECKPOINT_RUN_H
#define TEST_RUNTIME_SIMULATION_CHECKPOINT_RUN_H

#include "runtime/checkpoint/kept_states.h"
#include "runtime/checkpoint/saves.h"
#include "test/runtime/simulation/checkpoint_session.h"
#include "test/runtime/simulation/storage.h"
#include <optional>
#include <set>

namespace dist::simulation {

/// Groups of processes that go on one after another with one folder of states,
/// and their faults.
class CheckpointRun {
public:
  CheckpointRun(uint64_t seed, bool isTraced);
  ~CheckpointRun() { simulator.crashAll(); }
  std::string run();

private:
  static constexpr char kFolder[] = "/states";
  using Steps = std::vector<int64_t>; // the oldest first
  /// The processes of one epoch.
  struct Group {
    int number = 0;
    bool takesOver = false;
    std::vector<int> processes; // the simulator's
    Rounds rounds;
    int64_t claim = 0; // the epoch that it has made its own, without locks
    /// When it has come to have the folder, and what the disk had refused then.
    int opens = 0, refusals = 0;
    bool isOpen = false;
    bool isMet = false; // of those that another has left
    /// It is another run, which removes what is there as it begins.
    bool overwrites = false, isOverwriting = false;
    bool wasOthers = false; // the folder, before this one came to it
    /// One of them is gone, or is given up: those that are left meet again.
    bool hasLost = false;
    std::set<int> came;        // to that meeting: processes
    Group *next = nullptr;     // what came of it
    std::vector<Steps> stored; // what each has in memory as it begins
  };
  /// What a process keeps from group to group.
  struct Own {
    KeptStates kept;
    Steps keptSteps;    // the newest two
    Steps stored;       // those of the folder
    std::string folder; // in memory
    FolderClaim claim;  // to the folder of all
    int folders = 0;
  };

  Group &add(bool takesOver);
  Group &start(bool takesOver);
  void startLater(bool takesOver, Duration least);
  int startProcess(Group &group, int self);
  void live(Group *group, int self);
  Status liveIn(Group &group, int self, Own &own);
  Status begin(Group &group, GroupSession &session, CheckpointFolder &folder);
  Status goBack(Group &group, GroupSession &session, Own &own,
                CheckpointFolder &folder, TrainingState *state, bool *found);
  Status work(Group &group, GroupSession &session, Saves &saves, Own &own,
              int64_t step);
  Status save(Group &group, GroupSession &session, Saves &saves, int64_t step,
              bool beside);

  // Those that are left:
  Status keep(GroupSession &session, Own &own, int64_t step);
  Status store(int process, Own &own);
  Status makeMemory(int process, Own &own);
  Group *meetAgain(Group &before, int *self);
  bool allCame(const Group &group);
  void formNext(Group &before);
  void checkKept(const Group &group, GroupSession &session, bool found,
                 int64_t step);

  // Other runs in the folder:
  static uint64_t countRuns(uint64_t seed);
  bool isOverwritten() const;
  bool isOthers(const Group &group) const;
  void takeRun(const Group &group, Own &own, const FolderClaim &claim);

  void noteSaved(const Saves &saves);
  bool isAlone(const Group &group) const;
  std::set<int64_t> statesNow(const std::string &before) const;
  void checkNewest();
  void checkKeeps(const Group &group, std::set<int64_t> before, int64_t step);
  void checkSwept();
  void checkGoesOn(const Group &group, const Status &failed);
  void checkLoaded(Group &group, GroupSession &session, const Status &status,
                   const TrainingState &state, bool found);
  void noteOpen(const std::string &path);
  void checkRename(const std::string &from, const std::string &to);
  void takeClaim(const std::string &path);
  /// Whether one that has begun is to be there after this one.
  bool isReplaced(int group) const { return isBefore(group, begun); }
  bool isBefore(int group, int later) const {
    if (later < 0)
      return false;
    const Group &one = *groups[size_t(group)], &other = *groups[size_t(later)];
    return storage.hasLocks ? one.opens < other.opens : one.claim < other.claim;
  }
  bool isGone(int process) const {
    return simulator.isGhost(process) || simulator.isDone(process);
  }

  void planFaults();
  void disturb();
  void lose(int process);
  std::vector<int> alive() const;

  Simulator simulator;
  Storage storage;
  std::vector<std::unique_ptr<Group>> groups;
  std::map<int, Own> owns;    // by process
  std::map<int, int> groupOf; // by process
  std::set<int> betweenSteps; // processes that must not wait for the disk
  std::map<std::string, int> publishers; // groups, by run and epoch
  Time end;
  int keepFiles = 1;
  int opens = 0;
  int begun = -1;         // the newest group that has begun
  int overwriter = -1;    // the newest that has removed what was there
  int64_t lastSaved = -1; // as a chief was told
  /// Whether those that are left go on, and states are written beside steps.
  const bool isElastic, isBeside;
  /// One group of so many is another run; 0: all are of one.
  const uint64_t runsAfter;
  bool isCalm = true, isOver = false, hasLostPower = false;
};

} // namespace dist::simulation

#endif // TEST_RUNTIME_SIMULATION_CHECKPOINT_RUN_H
