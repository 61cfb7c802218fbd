//===- keeping.h - Going on from a state ------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_KEEPING_H
#define RUNTIME_TRAIN_KEEPING_H

#include "runtime/checkpoint/kept_states.h"
#include "runtime/train/trainer.h"

namespace dist {

/// Keeps states of a training in memory, so often that it takes a small part of
/// the time.
class Keeping {
public:
  /// `kept` may be null: nothing is kept.
  Keeping(Session &session, KeptStates *kept) : session(session), kept(kept) {}
  /// Between steps, the first time before all of them; all processes call it
  /// alike. `stepSeconds`: what the last one took.
  Status keep(const TrainingState &state, double stepSeconds);

  /// The same of the last state, if it is not kept yet.
  Status keepLast(const TrainingState &state);

private:
  Session &session;
  KeptStates *const kept;
  int64_t next = 0, every = 0; // steps
};

/// The step that ends the run: by --steps or --epochs, where both are given
/// whichever comes first.
Status findLastStep(const FitOptions &options, int64_t stepsPerEpoch,
                    int64_t *out);

/// What a state says of the data that its run goes through, which is compared
/// below, but for how many steps count as an epoch.
void describeData(const Dataset &data, const BatchPlan &plan,
                  const FitOptions &options, TrainingState *state);

/// Whether a state's position means the same in this run: its data, and their
/// order, are the same. `from` is where the state was.
Status checkSameData(const TrainingState &read, const TrainingState &here,
                     const std::string &from);

} // namespace dist

#endif // RUNTIME_TRAIN_KEEPING_H
