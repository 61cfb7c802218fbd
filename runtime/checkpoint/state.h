//===- state.h - What a saved state says of itself -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `state.json` of a state's folder: the trainer's state, whose it is, and what
// the variables beside it are. It is written when all else is on the disk: what
// has none is no state.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CHECKPOINT_STATE_H
#define RUNTIME_CHECKPOINT_STATE_H

#include "runtime/core/status.h"
#include "runtime/core/types.h"
#include "runtime/formats/file.h"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dist {

/// What a flag that watches a metric has counted.
struct WatchState {
  std::string metric; // as rows name it
  /// Finite; nothing before the first value that is.
  std::optional<double> best;
  int64_t bestEpoch = 0; // from 1
  int64_t waited = 0;    // epochs without an improvement
  int64_t cooldown = 0;  // epochs that are not counted yet
};

/// What resuming needs beside the variables. The position in the data is
/// (seed, batches done): a function of nothing else, but for workers that go
/// through examples of their own.
struct TrainingState {
  int64_t step = 0;     // batches done
  int64_t batch = 0;    // examples of a full one
  int64_t examples = 0; // in the data set
  bool shuffled = true;
  uint64_t seed = 0;
  bool dropRemainder = false;
  int64_t stepsPerEpoch = 0;
  /// How workers share the data (--shard-policy), and how many examples each
  /// goes through where these are its own.
  std::string shardPolicy = "data";
  std::vector<int64_t> workerExamples;
  /// Of the epoch under way. May be NaN or infinite.
  double epochLoss = 0;
  int64_t epochExamples = 0;
  double epochSeconds = 0;
  /// The step from which the batches of accumulated updates are counted: not 0
  /// once a run goes on with another number of them.
  int64_t updatesFrom = 0;
  /// The row of the epoch that ends here, when its validation was broken off:
  /// who resumes validates first, and tells the row then.
  struct PendingEpoch {
    std::vector<std::pair<std::string, double>> values;
    int64_t examples = 0;
    double seconds = 0;
  };
  std::optional<PendingEpoch> pendingEpoch;
  /// By the option that watches: --early-stopping, ...
  std::map<std::string, WatchState> watched;
  /// The model's own variables at the best epoch, by name, as global values;
  /// null where they are not restored. They stand beside the variables.
  std::shared_ptr<const std::map<std::string, Tensor>> bestValues;
};

struct StateHeader {
  TrainingState training;
  /// Whose it is; empty and 0 in states saved before runs had names.
  std::string run;
  int64_t epoch = 0;
  /// Such as data=2,model=2: whose ranks slices are.
  std::string mesh;
  /// Of `index.json`, in states from before there was one of their variables.
  uint32_t crc = 0;
  bool hasIndex = true;
  /// Of the program that saved it; nothing in older states.
  std::optional<std::string> optimizer; // its name, without keys
  std::optional<int64_t> accumulate;
  std::optional<std::map<std::string, std::string>> groups; // by variable
};

/// `folder`/state.json, through the disk's cache.
Status writeHeader(const std::string &folder, const StateHeader &header);

/// The error of a state that is not as it was saved.
Status damagedState(const std::string &folder, const std::string &why);

/// The bytes of a file of a state. `damaged`: it is missing; one that cannot be
/// read now may be sound.
Status openStateFile(const std::string &folder, const std::string &name,
                     std::shared_ptr<const FileBytes> *out, bool *damaged);

/// `damaged` tells what is wrong with the state itself (it is no use to anyone)
/// from what keeps this program from reading it.
Status readHeader(const std::string &folder, StateHeader *out, bool *damaged);

} // namespace dist

#endif // RUNTIME_CHECKPOINT_STATE_H
