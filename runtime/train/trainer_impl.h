//===- trainer_impl.h - One run of fit -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_TRAINER_IMPL_H
#define RUNTIME_TRAIN_TRAINER_IMPL_H

#include "runtime/checkpoint/saves.h"
#include "runtime/train/averaging.h"
#include "runtime/train/keeping.h"
#include "runtime/train/nonfinite.h"
#include "runtime/train/result_teller.h"
#include "runtime/train/trainer.h"
#include <cmath>

namespace dist {

/// One run of `fit`, split into the parts of its loop.
class Trainer {
public:
  Trainer(Session &session, const Dataset &data, const Dataset *validation,
          const FitOptions &options, FitObserver &observer)
      : session(session), data(data), validation(validation), options(options),
        observer(observer), metrics(session),
        monitors(session, options.monitors, observer, state),
        keeping(session, options.kept),
        nonfiniteSteps(session, data, options.onNonfinite, observer) {}
  Status run(FitOutcome *outcome);

private:
  Status train(FitOutcome *outcome);
  Status prepare();
  Status openFolder();
  Status resumeBehind(int64_t step, bool *found);
  Status resume();
  Status resumeKept();
  Status resumeSaved();
  Status adopt(const TrainingState &read, const std::string &from);
  void noteIncomplete();
  int64_t stepsUntilDue() const;
  int64_t stepsPerLaunch() const;
  Status launch(BatchStream &stream, int64_t count);
  Status runElsewhere(int64_t count);
  bool stops() {
    return observer.stops() || (options.runner && options.runner->stops());
  }
  Status record(const Batch &batch, const StepResult &result,
                const StepResult *applied);
  Status endEpoch();
  Status validateAndTell();
  enum class SaveAs { One, Last };
  Status save(SaveAs which, Status *failure);
  Status saveLast();
  Status saveIfDue();

  Session &session;
  const Dataset &data;
  const Dataset *validation;
  const FitOptions &options;
  FitObserver &observer;
  Metrics metrics;
  std::unique_ptr<CheckpointFolder> folder; // null: nothing is saved
  std::optional<Saves> saves;               // into that
  Status unsaved;                           // why the last state is not there
  EntryPair entries;
  EntryCall apply;
  Averaging averaging;
  BatchPlan plan;
  TrainingState state;
  Monitors monitors;
  int64_t stepsPerEpoch = 0, lastStep = 0, epochs = 0;
  int64_t accumulate = 1;
  float learningRate = NAN;
  Keeping keeping;
  NonfiniteSteps nonfiniteSteps;
  bool epochResumed = false; // begun by an earlier run
  bool isSavedSince = false; // it goes on from there, and not from memory
  double epochBegan = 0, epochExposed = 0, stepBegan = 0, stepSeconds = 0,
         inputSeconds = 0;

  /// A call of a launch: of a batch, or of `apply` behind it.
  struct Call {
    const Batch *batch = nullptr;
    const EntryCall *entry = nullptr;
    std::vector<TensorView> inputs;
    std::vector<Tensor> outputs;
  };
  std::vector<Call> calls; // kept, with their tensors
  std::vector<StepCall> stepCalls;
  std::vector<StepResult> results; // of a launch
  ResultTeller teller;
};

} // namespace dist

#endif // RUNTIME_TRAIN_TRAINER_IMPL_H
