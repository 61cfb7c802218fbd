//===- monitors.h - What follows from the metrics of epochs -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_MONITORS_H
#define RUNTIME_TRAIN_MONITORS_H

#include "runtime/checkpoint/state.h"
#include "runtime/core/session.h"
#include "runtime/telemetry/rows.h"
#include "runtime/train/watch.h"

namespace dist {

class FitObserver;

/// Whether early stopping has ended a run that has come to `state`: going on
/// with these options would make no step. `hasBest`: with the variables of the
/// best epoch beside its own.
bool isStoppedEarly(const MonitorOptions &options, const TrainingState &state,
                    bool hasBest);

/// Early stopping, the best model and the learning rate of a run. What they
/// count stands in the run's state: a resumed run ends where an uninterrupted
/// one does.
class Monitors {
public:
  /// `options`, `observer` and `state` must outlive it.
  Monitors(Session &session, const MonitorOptions &options,
           FitObserver &observer, TrainingState &state)
      : session(session), options(options), observer(observer), state(state) {}

  /// Before the first step: fails for a metric that the run does not produce,
  /// which has `metrics` and the loss, and for a learning rate that cannot be
  /// set.
  Status check(const std::vector<std::string> &metrics, bool validates) const;
  /// After `state` was read from a saved one: what was counted for other flags
  /// begins anew.
  void resume();
  /// At the end of an epoch.
  Status end(const EpochRow &epoch);
  bool stop() const {
    return isStoppedEarly(options, state, state.bestValues != nullptr);
  }
  /// The best epoch by MonitorOptions::saveBest; 0: none had a number.
  int64_t bestEpoch() const;
  /// When a run is over: the model's variables become those of the best epoch,
  /// where that is asked for.
  Status restoreBest();

private:
  WatchState &stateOf(const Watch &watch, const char *option);
  Status keepBestValues();
  Status reduce(const EpochRow &epoch);

  Session &session;
  const MonitorOptions &options;
  FitObserver &observer;
  TrainingState &state;
};

} // namespace dist

#endif // RUNTIME_TRAIN_MONITORS_H
