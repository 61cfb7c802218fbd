//===- checkpoint.h - Saved states of a training run -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of states is one run's. `run.json` names the run (an id) and how
// often it was taken up (its epoch); `step-N` is a state, the variables
// (safetensors) and the trainer's state (JSON), both checksummed, which appears
// under its name only when it is complete on the disk. Who trains holds a lock
// on `.lock`, which the kernel drops when the process is gone, however it went.
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

/// The folder of a run, held from `open` until the object goes.
class CheckpointFolder {
public:
  /// Makes the folder if it is missing and locks it. Errors: another holds it,
  /// it has states of another run and `use` is New, it has states of several.
  /// `notes` tells what a user should know besides.
  static Status open(const std::string &path, FolderUse use,
                     std::unique_ptr<CheckpointFolder> *out,
                     std::vector<std::string> *notes);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder &) = delete;
  CheckpointFolder &operator=(const CheckpointFolder &) = delete;

  /// Gives the session the newest sound state; `found` is false when there is
  /// none at all. Damaged ones that are newer are set aside: their names no
  /// longer count as states.
  Status load(Session &session, TrainingState *state, bool *found,
              std::vector<std::string> *notes);
  /// Before the first step: the folder is this run's from now on.
  Status begin(const manifest::Manifest &manifest);
  /// Saves `step-N`, then removes all but the newest `keep` of the run's own
  /// states. A state of that step is replaced at once, never missing.
  Status save(int64_t keep, Session &session, const TrainingState &state);

  const std::string &runId() const { return run; }

private:
  CheckpointFolder(const std::string &path, FolderUse use)
      : path(path), use(use) {}
  Status lock(std::vector<std::string> *notes);
  bool holdsNamedLock() const;
  void sweep();
  Status look();
  Status keepHold();
  Status writeRunFile();
  Status publish(const std::string &beside, int64_t step);
  std::string setAside(int64_t step);
  void discard(const std::string &name);

  std::string path;
  FolderUse use;
  int lockFile = -1; // -1: the file system has no locks
  std::string run;   // id; empty: none yet
  int64_t epoch = 0;
  std::string model;
  /// Steps of this run's sound states, the newest first: what retention counts.
  std::vector<int64_t> own;
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

/// Variables by name as a safetensors file: global values.
Status saveVariables(const std::string &path, Session &session,
                     VariableSet set = VariableSet::OfModel);

/// Variables of either name from such a file; the model's must all be there.
/// Nothing is written unless all fit. `notes` tells what the model does not
/// have.
Status loadVariables(const std::string &path, Session &session,
                     std::vector<std::string> *notes);

} // namespace dist

#endif // RUNTIME_CHECKPOINT_CHECKPOINT_H
