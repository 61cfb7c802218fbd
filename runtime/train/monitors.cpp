//===- monitors.cpp - What follows from the metrics of epochs ---*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/monitors.h"
#include "runtime/core/number_text.h"
#include "runtime/checkpoint/values.h"
#include "runtime/core/learning_rate.h"
#include "runtime/train/trainer.h"
#include <algorithm>
#include <cmath>

namespace dist {

// The options, which are also the names in saved states.
static constexpr const char *kEarlyStopping = "--early-stopping";
static constexpr const char *kSaveBest = "--save-best";
static constexpr const char *kReduce = "--reduce-lr-on-plateau";

/// Whether there is a best epoch, and not the variables that are wanted of it.
static bool lacksBest(const EarlyStopping &stopping, const WatchState &counted,
                      bool hasBest) {
  return stopping.restoreBest && counted.best && !hasBest;
}

bool isStoppedEarly(const MonitorOptions &options, const TrainingState &state,
                    bool hasBest) {
  const EarlyStopping &stopping = options.earlyStopping;
  auto found = state.watched.find(kEarlyStopping);
  // What was counted otherwise begins anew (Monitors::resume).
  return found != state.watched.end() &&
         found->second.metric == stopping.metric &&
         !lacksBest(stopping, found->second, hasBest) &&
         isExhausted(stopping, found->second);
}

static Status checkMetric(const char *option, const Watch &watch,
                          const std::vector<std::string> &produced) {
  if (watch.metric.empty())
    return Status();
  std::string names;
  for (const std::string &name : produced)
    names += (names.empty() ? "" : ", ") + name;
  bool validates = std::any_of(
      produced.begin(), produced.end(),
      [](const std::string &name) { return name.compare(0, 4, "val_") == 0; });
  bool wantsValidation = watch.metric.compare(0, 4, "val_") == 0;
  if (std::find(produced.begin(), produced.end(), watch.metric) ==
      produced.end())
    return Status::error(StatusCode::InvalidArgument, "no such metric", option,
                         "this run has no '" + watch.metric + "', it has " +
                             names,
                         wantsValidation && !validates
                             ? "add --validation-data or --validation-split"
                             : "give one of them, or add it to --metrics");
  if (!isLargerBetter(watch.metric))
    return Status::error(StatusCode::InvalidArgument, "cannot watch a metric",
                         option,
                         "whether larger or smaller values of '" +
                             watch.metric + "' are better is not known",
                         "give another metric");
  return Status();
}

Status Monitors::check(const std::vector<std::string> &metrics,
                       bool validates) const {
  std::vector<std::string> produced = metrics;
  if (std::find(produced.begin(), produced.end(), "loss") == produced.end())
    produced.insert(produced.begin(), "loss");
  if (validates)
    for (size_t i = 0, n = produced.size(); i < n; ++i)
      produced.push_back("val_" + produced[i]);
  DIST_RETURN_IF_ERROR(
      checkMetric(kEarlyStopping, options.earlyStopping, produced));
  DIST_RETURN_IF_ERROR(checkMetric(kSaveBest, options.saveBest, produced));
  DIST_RETURN_IF_ERROR(checkMetric(kReduce, options.reduceOnPlateau, produced));
  double ignored = 0;
  return options.reduceOnPlateau.metric.empty()
             ? Status()
             : readLearningRate(session, &ignored);
}

void Monitors::resume() {
  for (auto [option, watch] : {std::pair<const char *, const Watch *>(
                                   kEarlyStopping, &options.earlyStopping),
                               {kSaveBest, &options.saveBest},
                               {kReduce, &options.reduceOnPlateau}}) {
    auto saved = state.watched.find(option);
    if (saved == state.watched.end() || saved->second.metric == watch->metric)
      continue;
    observer.note(std::string(option) + " watched '" + saved->second.metric +
                  "' before: what it has counted is dropped");
    state.watched.erase(saved);
  }
  auto stopping = state.watched.find(kEarlyStopping);
  if (!options.earlyStopping.restoreBest) {
    state.bestValues.reset();
  } else if (stopping != state.watched.end() &&
             lacksBest(options.earlyStopping, stopping->second,
                       state.bestValues != nullptr)) {
    observer.note(std::string(kEarlyStopping) +
                  " begins anew: the saved state has no variables of the best "
                  "epoch");
    state.watched.erase(stopping);
  }
}

WatchState &Monitors::stateOf(const Watch &watch, const char *option) {
  WatchState &found = state.watched[option];
  found.metric = watch.metric;
  return found;
}

static double valueOf(const EpochRow &epoch, const std::string &metric) {
  for (auto &[name, value] : epoch.values)
    if (name == metric)
      return value;
  return NAN;
}

Status Monitors::keepBestValues() {
  auto values = std::make_shared<std::map<std::string, Tensor>>();
  const manifest::Manifest &manifest = session.manifest();
  for (int i = 0; i < manifest.variables_size(); ++i)
    if (isOfModel(manifest.variables(i).group()))
      DIST_RETURN_IF_ERROR(
          session.readVariable(i, &(*values)[manifest.variables(i).name()]));
  state.bestValues = std::move(values);
  return Status();
}

Status Monitors::reduce(const EpochRow &epoch) {
  const ReduceOnPlateau &plateau = options.reduceOnPlateau;
  double before = 0;
  DIST_RETURN_IF_ERROR(readLearningRate(session, &before));
  double rate = before;
  WatchState &counted = stateOf(plateau, kReduce);
  observe(plateau, epoch.epoch, valueOf(epoch, plateau.metric), &rate,
          &counted);
  if (rate == before)
    return Status();
  observer.note("epoch " + std::to_string(epoch.epoch) + ": " + plateau.metric +
                " is on a plateau: the learning rate goes from " +
                numberText(float(before)) + " to " + numberText(float(rate)));
  return setLearningRate(session, rate);
}

Status Monitors::end(const EpochRow &epoch) {
  auto observed = [&](const Watch &watch, const char *option) {
    return !watch.metric.empty() &&
           observe(watch, epoch.epoch, valueOf(epoch, watch.metric),
                   &stateOf(watch, option));
  };
  if (!options.saveBest.metric.empty()) {
    const WatchState before = stateOf(options.saveBest, kSaveBest);
    bool isWritten = true;
    if (observed(options.saveBest, kSaveBest))
      DIST_RETURN_IF_ERROR(observer.improved(epoch, &isWritten));
    if (!isWritten)
      stateOf(options.saveBest, kSaveBest) = before;
  }
  if (!options.reduceOnPlateau.metric.empty())
    DIST_RETURN_IF_ERROR(reduce(epoch));
  if (observed(options.earlyStopping, kEarlyStopping) &&
      options.earlyStopping.restoreBest)
    DIST_RETURN_IF_ERROR(keepBestValues());
  return Status();
}

int64_t Monitors::bestEpoch() const {
  auto found = state.watched.find(kSaveBest);
  return found == state.watched.end() ? 0 : found->second.bestEpoch;
}

Status Monitors::restoreBest() {
  if (!options.earlyStopping.restoreBest)
    return Status();
  const WatchState &best = stateOf(options.earlyStopping, kEarlyStopping);
  if (!state.bestValues) {
    observer.note("no epoch had a " + best.metric +
                  " that is a number: the variables stay those of the last");
    return Status();
  }
  const manifest::Manifest &manifest = session.manifest();
  for (int i = 0; i < manifest.variables_size(); ++i) {
    auto value = state.bestValues->find(manifest.variables(i).name());
    if (value != state.bestValues->end())
      DIST_RETURN_IF_ERROR(session.writeVariable(i, value->second.view()));
  }
  observer.note("the model's variables are those of epoch " +
                std::to_string(best.bestEpoch) + ", of " + best.metric + " " +
                numberText(*best.best));
  return Status();
}

} // namespace dist
