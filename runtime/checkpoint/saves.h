//===- saves.h - The saves of a training ------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One after another into the run's folder, some of them beside the steps that
// follow (--async-save). A state that cannot be saved ends no training: it is
// told.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CHECKPOINT_SAVES_H
#define RUNTIME_CHECKPOINT_SAVES_H

#include "runtime/checkpoint/checkpoint.h"

namespace dist {

/// All processes of a session call it alike. Errors say that they do not reach
/// each other, or that the folder is another run's by now.
class Saves {
public:
  /// All must outlive it. `keep`: as `CheckpointFolder::finishSave`; `note` is
  /// told a line.
  Saves(Session &session, CheckpointFolder &folder, int64_t keep,
        std::function<void(const std::string &)> note)
      : session(session), folder(folder), keep(keep), note(std::move(note)) {}

  /// That training goes on from a state of the folder.
  void beginFrom(int64_t step) { savedStep = step; }
  /// The step of the newest state; -1: none.
  int64_t saved() const { return savedStep; }

  /// Begins to write a state; one that is under way is finished before.
  /// `beside` as `CheckpointFolder::beginSave`.
  Status begin(const TrainingState &state, bool beside);
  /// Waits for what is being written, if anything is. `failure`: why it is no
  /// state; null: that is told.
  Status finish(Status *failure);
  /// Between steps: the same, but only where no process has to wait.
  Status finishWritten();

private:
  Session &session;
  CheckpointFolder &folder;
  const int64_t keep;
  const std::function<void(const std::string &)> note;
  /// Of the newest state, and of the one that is being written; -1: none.
  int64_t savedStep = -1, savingStep = -1;
};

} // namespace dist

#endif // RUNTIME_CHECKPOINT_SAVES_H
