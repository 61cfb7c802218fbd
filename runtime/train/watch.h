//===- watch.h - What flags of training watch ---------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A metric of the epochs' rows, and what follows when it gets better or does
// not: the rules of keras/src/callbacks/{early_stopping,model_checkpoint,
// reduce_lr_on_plateau}.py, as functions of numbers. One thing differs: a value
// that is not finite is never an improvement, not even the first.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_WATCH_H
#define RUNTIME_TRAIN_WATCH_H

#include <cstdint>
#include <optional>
#include <string>

namespace dist {

struct WatchState;

/// A metric by the name that rows give it, as `val_loss`; empty: none is
/// watched. An improvement is one of more than `minDelta`.
struct Watch {
  std::string metric;
  double minDelta = 0;
};

/// Ends the run after `patience` epochs without an improvement (0 as 1).
/// `restoreBest`: with the model's variables of the best epoch.
struct EarlyStopping : Watch {
  int64_t patience = 0;
  bool restoreBest = false;
};

/// After `patience` epochs without an improvement the learning rate is
/// multiplied by `factor`, but not below `minRate`; then `cooldown` epochs are
/// not counted.
struct ReduceOnPlateau : Watch {
  ReduceOnPlateau() { minDelta = 1e-4; }
  double factor = 0.1, minRate = 0;
  int64_t patience = 10, cooldown = 0;
};

struct MonitorOptions {
  EarlyStopping earlyStopping;
  Watch saveBest;
  ReduceOnPlateau reduceOnPlateau;
};

/// Whether larger values of a metric are better; nothing where its kind is not
/// known. The kind is the name's last word, without keys: accuracy of
/// val_accuracy, top-k of head_top-k:k=3.
std::optional<bool> isLargerBetter(const std::string &metric);

/// An epoch's value. Returns whether it is the best so far, which `state`
/// keeps, with the epochs since.
bool observe(const Watch &watch, int64_t epoch, double value,
             WatchState *state);

/// Whether a run in this state has ended.
bool isExhausted(const EarlyStopping &stopping, const WatchState &state);

/// The same as `observe` for a plateau. `rate` is the learning rate; when it
/// is to be another one from here on, `rate` becomes that.
bool observe(const ReduceOnPlateau &plateau, int64_t epoch, double value,
             double *rate, WatchState *state);

} // namespace dist

#endif // RUNTIME_TRAIN_WATCH_H
