//===- checkpoint.h - Saved states of a training run -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A saved state is a folder `step-N` with the variables (safetensors) and the
// trainer's state (JSON), both checksummed. It appears under its name only when
// it is complete on the disk.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CHECKPOINT_CHECKPOINT_H
#define RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/core/session.h"

namespace dist {

/// What resuming needs beside the variables. The position in the data is
/// (seed, batches done): a function of nothing else.
struct TrainingState {
  int64_t step = 0;     // batches done
  int64_t batch = 0;    // examples of a full one
  int64_t examples = 0; // in the data set
  bool shuffled = true;
  uint64_t seed = 0;
  bool dropRemainder = false;
  int64_t stepsPerEpoch = 0;
  /// Of the epoch under way.
  double epochLoss = 0;
  int64_t epochExamples = 0;
  double epochSeconds = 0;
};

/// Saves `folder/step-N` and removes all but the newest `keep` states.
Status saveCheckpoint(const std::string &folder, int64_t keep, Session &session,
                      const TrainingState &state);

/// Loads the newest sound state; `found` is false when there is none at all.
/// `notes` tells which damaged ones were passed over.
Status loadCheckpoint(const std::string &folder, Session &session,
                      TrainingState *state, bool *found,
                      std::vector<std::string> *notes);

/// Variables by name as a safetensors file: global values.
Status saveVariables(const std::string &path, Session &session);

} // namespace dist

#endif // RUNTIME_CHECKPOINT_CHECKPOINT_H
