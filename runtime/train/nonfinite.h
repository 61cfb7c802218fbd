//===- nonfinite.h - Where NaN and infinities come from ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_NONFINITE_H
#define RUNTIME_TRAIN_NONFINITE_H

#include "runtime/train/trainer.h"

namespace dist {

/// As the program was compiled.
OnNonfinite onNonfiniteOf(const manifest::Manifest &manifest);
/// Whether the program can do so: what steps that are skipped leave alone is
/// compiled in, and so is whether a step tells that it is not finite.
bool canDoOnNonfinite(const manifest::Manifest &manifest, OnNonfinite wanted);

/// Says what of a step is not finite first: an example, a variable, or the
/// loss. All processes of a session ask together, and get the same answer.
Status nonfinite(Session &session, const Dataset &data, const Batch &batch,
                 const StepResult &result, const BatchPlan &plan);

/// What becomes of the steps of a run whose numbers are not finite, as far as
/// the host has a part in it.
class NonfiniteSteps {
public:
  NonfiniteSteps(Session &session, const Dataset &data, OnNonfinite policy,
                 FitObserver &observer);
  /// Of a step, and of the call that has applied its gradients, or null: notes
  /// that it was left out; where it is to end the run, the error that says why.
  Status record(const Batch &batch, const StepResult &result,
                const StepResult *applied, const BatchPlan &plan);

private:
  Status explainOnce(const Batch &batch, const StepResult &result,
                     const BatchPlan &plan);

  Session &session;
  const Dataset &data;
  OnNonfinite policy;
  FitObserver &observer;
  /// The program leaves such steps out by itself, whatever the policy is.
  bool hasLossScale;
  bool isExplained = false;
};

} // namespace dist

#endif // RUNTIME_TRAIN_NONFINITE_H
