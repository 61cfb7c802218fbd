//===- watch.cpp - What flags of training watch -----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/watch.h"
#include "runtime/checkpoint/state.h"
#include <algorithm>
#include <cmath>

namespace dist {

std::optional<bool> isLargerBetter(const std::string &metric) {
  static const std::pair<const char *, bool> kinds[] = {
      {"loss", false},
      {"mse", false},
      {"mae", false},
      {"accuracy", true},
      {"categorical-accuracy", true},
      {"binary-accuracy", true},
      {"top-k", true},
      {"auc", true}};
  std::string kind = metric.substr(0, metric.find(':'));
  kind = kind.substr(kind.rfind('_') + 1);
  for (auto &[name, larger] : kinds)
    if (kind == name)
      return larger;
  return std::nullopt;
}

static bool improves(const Watch &watch, double value,
                     const WatchState &state) {
  if (!std::isfinite(value))
    return false;
  if (!state.best)
    return true;
  // Compared as f32, as Keras does: digits beyond are rounding of the sums.
  bool larger = isLargerBetter(watch.metric).value_or(false);
  float best = float(*state.best);
  return larger ? float(value - watch.minDelta) > best
                : float(value + watch.minDelta) < best;
}

static void keepBest(int64_t epoch, double value, WatchState *state) {
  state->best = value;
  state->bestEpoch = epoch;
  state->waited = 0;
}

bool observe(const Watch &watch, int64_t epoch, double value,
             WatchState *state) {
  if (improves(watch, value, *state)) {
    keepBest(epoch, value, state);
    return true;
  }
  ++state->waited;
  return false;
}

bool isExhausted(const EarlyStopping &stopping, const WatchState &state) {
  return !stopping.metric.empty() && state.waited > 0 &&
         state.waited >= stopping.patience;
}

bool observe(const ReduceOnPlateau &plateau, int64_t epoch, double value,
             double *rate, WatchState *state) {
  if (state->cooldown > 0) {
    --state->cooldown;
    state->waited = 0;
  }
  if (improves(plateau, value, *state)) {
    keepBest(epoch, value, state);
    return true;
  }
  if (state->cooldown > 0 || ++state->waited < plateau.patience)
    return false;
  // Rates are f32.
  if (*rate <= double(float(plateau.minRate)))
    return false;
  *rate = std::max(*rate * plateau.factor, plateau.minRate);
  state->cooldown = plateau.cooldown;
  state->waited = 0;
  return false;
}

} // namespace dist
