//===- averaging.h - Workers that train by themselves -----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_AVERAGING_H
#define RUNTIME_TRAIN_AVERAGING_H

#include "runtime/train/entry.h"

namespace dist {

/// Whether the package's workers train by themselves between averages of their
/// variables (dist-opt --sync-every): after how many steps; 0: they do not.
int64_t stepsPerSync(const manifest::Manifest &manifest);

/// Runs the entry `sync`, which makes the workers' variables equal.
class Averaging {
public:
  /// Errors: a package that says it averages has no `sync`.
  static Status create(Session &session, Averaging *out);
  explicit operator bool() const { return every > 0; }
  /// Steps from `step` on until the next average, at least 1; as many as there
  /// are where nothing is averaged.
  int64_t stepsUntilDue(int64_t step) const;
  /// The variables are equal at this step: a run begins with it.
  void begin(int64_t step) { syncedStep = step; }
  /// Behind `step` steps: averages where that is due. All processes call it.
  Status afterStep(int64_t step);
  /// The same where somebody is to read the variables.
  Status beforeReading(int64_t step);

private:
  Session *session = nullptr;
  const manifest::Entry *entry = nullptr;
  int64_t every = 0, syncedStep = 0;
  std::vector<Tensor> outputs;
};

} // namespace dist

#endif // RUNTIME_TRAIN_AVERAGING_H
