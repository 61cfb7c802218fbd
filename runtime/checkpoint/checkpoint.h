//===- checkpoint.h - Saved states of a training run -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of states is one run's. `run.json` names the run (an id), how often
// it was taken up (its epoch) and whether it has come to its end; `step-N` is a
// state, the variables (safetensors), their index and the trainer's state
// (JSON), all checksummed, which appears under its name only when it is
// complete on the disk. The run holds a lock on `.lock`, which the kernel drops
// when the process is gone, however it went.
//
// A run may have several processes, on hosts that share the folder. Each writes
// what its ranks hold; process 0 alone locks, names, keeps and removes, and
// makes the files a state when all have said that theirs are on the disk. Any
// number of processes, in any strategy, takes up any state.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CHECKPOINT_CHECKPOINT_H
#define RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/checkpoint/state.h"
#include "runtime/core/session.h"

namespace dist {

/// What a run wants of a folder.
enum class FolderUse {
  New,       // to begin; refused where states are
  Resume,    // to go on with what is there, or to begin
  Overwrite, // to begin; what states are there are removed
};

/// The same, and on what grounds.
struct FolderClaim {
  FolderClaim(FolderUse use = FolderUse::New) : use(use) {}

  FolderUse use;
  /// In place of a process that the run goes on without, which may be frozen,
  /// and hold the folder still; it saves nothing there any more.
  bool takesOver = false;
  /// Of one that has opened it before: its id, whose the folder was then, and
  /// the epoch. Where another run has begun since it is refused. Empty: of no
  /// one.
  std::string run, before;
  int64_t epoch = 0;
};

/// The folder of a run, held from `open` until the object goes. All processes
/// of a session call it alike.
class CheckpointFolder {
public:
  /// Makes the folder if it is missing and locks it. Errors: another holds it,
  /// it has states of another run and `claim.use` is New, it has states of
  /// several. `notes` tells what a user should know besides. The
  /// `claim` of the first counts that has opened it before, or of process 0.
  static Status open(const std::string &path, const FolderClaim &claim,
                     Session &session, std::unique_ptr<CheckpointFolder> *out,
                     std::vector<std::string> *notes);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder &) = delete;
  CheckpointFolder &operator=(const CheckpointFolder &) = delete;

  /// Gives the session the newest sound state; `found` is false when there is
  /// none at all. Damaged ones that are newer are set aside: their names no
  /// longer count as states. `newerThan`: of those behind this step; that none
  /// of them is sound, or can be opened here, is a note then.
  Status load(Session &session, TrainingState *state, bool *found,
              std::vector<std::string> *notes, int64_t newerThan = -1);
  /// Before the first step: the folder is this run's from now on.
  Status begin(Session &session);
  /// Behind the last save of a run that has come to its end: says so in the
  /// folder, to who follows it (followed_states.h). An error: it is not told.
  Status end(const Session &session);
  /// Saves `step-N`, then removes all but the newest `keep` of the run's own
  /// states. A state of that step is replaced at once, never missing.
  Status save(int64_t keep, Session &session, const TrainingState &state);

  /// The first half of a save. `beside`: takes a copy of what is written, by a
  /// thread of its own, and the session may go on meanwhile. An error says that
  /// the folder is no longer this run's.
  Status beginSave(Session &session, const TrainingState &state, bool beside);
  /// Behind `beginSave`: whether `finishSave` has nothing to wait for.
  bool isWritten() const;
  /// The other half. `failure`: why there is no new state, as a full disk; what
  /// was saved before is as it was.
  Status finishSave(int64_t keep, Session &session, Status *failure);
  /// Behind a save that has failed: an error where the folder is another's by
  /// now, and this run's end no one's.
  Status checkOwner(Session &session) const;

  /// In all processes.
  const std::string &runId() const { return run; }
  /// What the run is to open it with as it goes on without some of its
  /// processes.
  FolderClaim claimAgain() const;
  /// Whether it was opened to go on with what is there.
  bool resumes() const { return use == FolderUse::Resume; }

private:
  friend Status checkCheckpointFolder(const std::string &path, FolderUse use);
  struct Save;

  CheckpointFolder(const std::string &path, FolderUse use);
  static Status openHere(const std::string &path, const FolderClaim &claim,
                         std::unique_ptr<CheckpointFolder> *out,
                         std::vector<std::string> *notes);
  Status beginHere(const Session &session);
  Status checkRun() const;
  void take(const FolderClaim &claim);
  Status lock(bool takesOver, std::vector<std::string> *notes, bool *isInUse);
  Status replaceLock();
  bool holdsNamedLock() const;
  void sweep();
  bool putBack(const std::string &name) const;
  void fence();
  Status claim();
  Status claimEpoch();
  int64_t newestClaim() const;
  bool isOutclaimed() const;
  Status look();
  Status takenOver() const;
  Status checkEpoch(bool *found) const;
  Status checkLock() const;
  Status checkPlace() const;
  Status checkHold() const;
  bool findOwnStates();
  Status keepHold(Status *failure);
  Status writeRunFile() const;
  Status commit(const std::vector<std::string> &files);
  Status publish(const std::string &beside, int64_t step);
  Status replace(const std::string &beside, const std::string &target);
  Status removeStates();
  void retain(int64_t saved, int64_t keep);
  std::string setAside(int64_t step);
  int moveAway(const std::string &name) const;
  void discard(const std::string &name);
  Status removeMoved() const;

  std::string path;
  FolderUse use;
  int lockFile = -1;         // -1: the file system has no locks
  std::string run;           // id; empty: none yet
  std::string begun, before; // FolderClaim::run, whose it was
  int64_t epoch = 0;
  bool hasEpoch = false; // it is this object's own
  bool isBegun = false;
  bool ended = false;
  std::string model;
  /// Steps of this run's sound states, the newest first: what retention counts.
  std::vector<int64_t> own;
  /// What saves beside training copy; its memory stays for the next one.
  std::vector<Tensor> copies;
  std::shared_ptr<Save> pending; // null: none is under way
};

/// Whether `CheckpointFolder::open` would let a run begin, before work is put
/// into it. Makes no folder.
Status checkCheckpointFolder(const std::string &path, FolderUse use);

enum class VariableSet {
  /// Weights and buffers, under their names in the model file.
  OfModel,
  /// The optimizer's and the metrics' state, too, all under their own names.
  All
};

/// Variables by name as a safetensors file: global values, of which one at a
/// time is in memory. All processes of a session call it; process 0 writes.
Status saveVariables(const std::string &path, Session &session,
                     VariableSet set = VariableSet::OfModel);

/// Variables of either name from such a file; the model's must all be there.
/// Nothing is written unless all fit. `notes` tells what the model does not
/// have.
Status loadVariables(const std::string &path, Session &session,
                     std::vector<std::string> *notes);

} // namespace dist

#endif // RUNTIME_CHECKPOINT_CHECKPOINT_H
