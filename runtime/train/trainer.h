//===- trainer.h - The host's loop over steps -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_TRAINER_H
#define RUNTIME_TRAIN_TRAINER_H

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/kept_states.h"
#include "runtime/telemetry/rows.h"
#include "runtime/train/entry.h"
#include "runtime/train/monitors.h"

namespace dist {

enum class OnNonfinite { Continue, Skip, Stop };

/// A step that was run elsewhere.
struct StepDone {
  int64_t batch = 0; // its number
  int64_t examples = 0;
  StepResult result;
};

/// Runs steps in other processes, several at once: they end in any order, each
/// with the gradients that it found. One thread uses it.
class StepRunner {
public:
  virtual ~StepRunner() = default;
  /// Of so many batches from `first` on; all before are done.
  virtual Status begin(int64_t first, int64_t count) = 0;
  /// Of those that have not begun none is run.
  virtual void cancel() = 0;
  virtual bool isDone() const = 0;
  /// The next one that has ended; none: not yet.
  virtual Status next(std::optional<StepDone> *out) = 0;
  /// Whether one of the processes was told to stop.
  virtual bool stops() = 0;
};

struct Evaluation {
  int64_t examples = 0;
  bool stopped = false; // by `stops`: of a part of the data
  std::vector<std::pair<std::string, double>> values; // loss, metrics
};

/// Evaluates the validation data in other processes.
class EvaluationRunner {
public:
  virtual ~EvaluationRunner() = default;
  /// All of them, once, until `stops` says so.
  virtual Status evaluate(Evaluation *out,
                          const std::function<bool()> &stops) = 0;
};

struct FitOptions {
  /// Where both are given, the run ends with whichever ends first.
  int64_t epochs = 0;        // 0: as many as the steps take; without any, 1
  int64_t steps = 0;         // 0: as many as the epochs have
  int64_t stepsPerEpoch = 0; // 0: one pass over the data
  std::optional<uint64_t> shuffle = 0;
  bool dropRemainder = false;
  /// Of a session of several processes: which examples are in `data`.
  ShardPolicy shardPolicy = ShardPolicy::Data;
  int64_t prefetch = 2;
  /// Steps that the devices run without the host between them; fewer where
  /// something is due: the end of an epoch, a checkpoint.
  int64_t stepsPerLaunch = 1;
  OnNonfinite onNonfinite = OnNonfinite::Stop;
  std::string checkpoint; // folder; empty: none
  int64_t saveEvery = 0;  // steps; 0: each epoch
  int64_t keep = 3;
  FolderClaim folder;
  /// States are written while training goes on, from a copy of what this
  /// process's ranks hold.
  bool asyncSave = false;
  MonitorOptions monitors;
  /// Receives states to go on from without those processes that are lost; null:
  /// none are kept.
  KeptStates *kept = nullptr;
  /// A folder that they were written to by a run that lost some: this one goes
  /// on from there, or from `checkpoint` where they are not whole.
  std::string keptIn;
  /// Who runs the steps, of the session's variables; null: the session.
  StepRunner *runner = nullptr;
  /// Who evaluates, with the session's variables; null: the session.
  EvaluationRunner *evaluator = nullptr;
};

/// How a run ended. Of one that gave an error `begun`, `folder`, `step` and
/// `done`.
struct FitOutcome {
  /// Whatever the end: `checkpoint`, if there is one, is this run's, which its
  /// processes have agreed on. No step is done before.
  bool begun = false;
  /// What a run opens `checkpoint` with that goes on without some of its
  /// processes; none: it was not opened.
  std::optional<FolderClaim> folder;
  int64_t step = 0, lastStep = 0;
  /// All is as without an error, which only says why there is no state of
  /// `step`.
  bool done = false;
  /// Asked to (see `FitObserver::stops`), before the last step.
  bool stopped = false;
  bool saved = false; // a state of `step`
  /// By early stopping, after this epoch; 0: it went on to the last step.
  int64_t endedAfter = 0;
  /// Whose metric was the best for --save-best; 0: none had a number.
  int64_t bestEpoch = 0;
};

/// What the loop tells while it runs, to the code that owns the terminal and
/// the files. An error ends the training.
class FitObserver {
public:
  virtual ~FitObserver() = default;
  /// Before the first step: the step that a resumed run goes on from, or 0.
  virtual Status begin(int64_t resumedStep, int64_t epochs) { return Status(); }
  virtual Status step(const StepRow &row) { return Status(); }
  virtual Status epoch(const EpochRow &row, int64_t examples) {
    return Status();
  }
  /// After an epoch that is better than those before, by
  /// MonitorOptions::saveBest; its model is the session's. `written`: where it
  /// is not, as on a full disk, the epoch does not count as the best.
  virtual Status improved(const EpochRow &row, bool *written) {
    return Status();
  }
  virtual void note(const std::string &text) {}
  /// Asked between steps, by any thread: whether to end after the one under
  /// way. The state is saved then, so that resuming loses nothing.
  virtual bool stops() { return false; }
};

/// Trains. `validation` may be null. A state that cannot be saved, as on a full
/// disk, is a note, and an error only of the last one. All processes of a
/// session call it alike.
Status fit(Session &session, const Dataset &data, const Dataset *validation,
           const FitOptions &options, FitObserver &observer,
           FitOutcome *outcome = nullptr);

/// One pass over the data, in file order, until `stops` says so between two
/// batches.
Status evaluate(Session &session, const Dataset &data, int64_t prefetch,
                Evaluation *out, const std::function<bool()> &stops = nullptr);

/// The entry whose arguments describe the data of training.
const manifest::Entry *trainingEntry(Session &session);

} // namespace dist

#endif // RUNTIME_TRAIN_TRAINER_H
