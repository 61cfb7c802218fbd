//===- follow.cpp - Evaluating a run's states as they come ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/follow.h"
#include "runtime/checkpoint/followed_states.h"
#include "runtime/core/number_text.h"
#include "runtime/telemetry/evaluation_history.h"
#include "runtime/train/trainer.h"
#include "tools/dist-run/console.h"
#include "tools/options/interrupt.h"
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace dist::tools {

Status loadNewestState(const Options &options, Session &session) {
  setActivity("reading the saved state");
  FollowedStates states(options.checkpoint);
  std::optional<FollowedState> state;
  std::vector<std::string> notes;
  Status status = states.loadNewest(session, &state, &notes);
  for (const std::string &note : notes)
    printNote("dist-run: note: " + note);
  DIST_RETURN_IF_ERROR(status);
  if (!state)
    return Status::error(StatusCode::InvalidInput, "no sound saved state",
                         options.checkpoint, "",
                         options.command == "predict"
                             ? "give the folder of fit --checkpoint"
                             : "give the folder of fit --checkpoint, or "
                               "--follow to wait for one");
  printNote("dist-run: note: the state of step " +
            std::to_string(state->id.step) + " in " + options.checkpoint);
  return Status();
}

/// How often the folder is looked at while nothing new is there.
static constexpr auto kPause = std::chrono::milliseconds(250);

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

namespace {

/// The results of states, where the options want them.
class Results {
public:
  explicit Results(const Options &options) : options(options) {}

  /// What is done already is told to `states`.
  Status open(FollowedStates &states) {
    std::vector<EvaluationRow> known;
    std::string note;
    if (!options.history.empty())
      DIST_RETURN_IF_ERROR(history.open(options.history, &known, &note));
    if (!note.empty())
      printNote("dist-run: note: " + note);
    for (const EvaluationRow &row : known)
      states.skip({row.run, row.runEpoch, row.step});
    return options.tensorboard.empty() ? Status()
                                       : events.open(options.tensorboard);
  }
  Status add(const EvaluationRow &row) {
    // First: what it holds is not evaluated again.
    if (!options.history.empty())
      DIST_RETURN_IF_ERROR(history.add(row));
    std::vector<std::pair<std::string, double>> scalars;
    for (auto &[name, value] : row.values)
      scalars.emplace_back("evaluation/" + name, value);
    DIST_RETURN_IF_ERROR(events.add(row.step, scalars));
    if (options.json)
      return printResult(toJson(row) + "\n");
    std::string text = "step " + std::to_string(row.step) + " (epoch " +
                       std::to_string(row.epoch) + "): examples " +
                       std::to_string(row.examples);
    for (auto &[name, value] : row.values)
      text += ", " + name + " " + jsonNumber(float(value));
    return printResult(text + "\n");
  }

private:
  const Options &options;
  EvaluationHistory history;
  EventFile events;
};

} // namespace

/// `steps 45, 90`, or of many the first and the last.
static std::string listSteps(const std::vector<int64_t> &steps) {
  constexpr size_t kMost = 8;
  if (steps.size() > kMost)
    return std::to_string(steps.size()) + " states from step " +
           std::to_string(steps.front()) + " to " +
           std::to_string(steps.back());
  std::string text = steps.size() == 1 ? "step" : "steps";
  for (int64_t step : steps)
    text += (step == steps.front() ? " " : ", ") + std::to_string(step);
  return text;
}

static Status evaluateState(const Options &options, Session &session,
                            const Dataset &data, const FollowedState &state,
                            EvaluationRow *row) {
  Evaluation evaluation;
  const double began = now();
  DIST_RETURN_IF_ERROR(evaluate(session, data, options.prefetch, &evaluation));
  row->step = state.id.step;
  // As the rows of its steps have it; one that was saved before the first is of
  // the first.
  const int64_t perEpoch = std::max<int64_t>(state.training.stepsPerEpoch, 1);
  row->epoch = std::max<int64_t>(row->step - 1, 0) / perEpoch + 1;
  row->run = state.id.run;
  row->runEpoch = state.id.runEpoch;
  row->examples = evaluation.examples;
  row->values = std::move(evaluation.values);
  row->seconds = now() - began;
  return Status();
}

bool isComplete(const Options &options, const FollowedStates &states) {
  const TrainingState &reached = states.progress();
  // The state's files are looked into only where they decide.
  const MonitorOptions &monitors = options.monitors;
  if (isStoppedEarly(monitors, reached, /*hasBest=*/true) &&
      isStoppedEarly(monitors, reached, states.hasBest()))
    return true;
  const int64_t perEpoch = std::max<int64_t>(reached.stepsPerEpoch, 1);
  return (options.steps > 0 && reached.step >= options.steps) ||
         ((options.steps == 0 || options.epochsGiven) &&
          reached.step / perEpoch >= options.epochs);
}

namespace {

/// When nothing more is to come.
class RunsEnd {
public:
  /// `found`: what lay there when this process began.
  RunsEnd(const Options &options, FollowedStates &states, const RunFile &found)
      : options(options), states(states), found(found) {
    if (options.overwrite && found.ended)
      states.skipRun(found.run);
  }

  /// Of a look that found no new state.
  bool isThere() {
    if (!states.runHasEnded())
      return false;
    // The cluster's evaluator knows how far the run is to go: its command is
    // the run's.
    if (!isBefore() ||
        (options.isEvaluator && options.resume && isComplete(options, states)))
      return true;
    if (!std::exchange(isTold, true))
      printNote("dist-run: note: the run in " + options.checkpoint +
                " has ended: waiting until " +
                (options.resume ? "it is taken up again (--resume)"
                                : "another begins there (--overwrite)"));
    return false;
  }

private:
  /// Whether the run is the one that had ended before this process began, which
  /// is to be taken up again, or to be replaced.
  bool isBefore() const {
    if (!found.ended || states.takenUp().first != found.run)
      return false;
    return options.resume ? states.takenUp().second == found.epoch
                          : options.overwrite;
  }
  const Options &options;
  const FollowedStates &states;
  const RunFile found;
  bool isTold = false;
};

} // namespace

Status followStates(const Options &options, const RunFile &found,
                    Session &session, const Dataset &data) {
  FollowedStates states(options.checkpoint);
  Results results(options);
  DIST_RETURN_IF_ERROR(results.open(states));
  RunsEnd end(options, states, found);
  double lastNews = now();
  for (bool isFirst = true;; isFirst = false) {
    std::optional<FollowedState> state;
    std::vector<std::string> notes;
    setActivity("reading the saved states");
    Status status = states.loadNewest(session, &state, &notes);
    for (const std::string &note : notes)
      printNote("dist-run: note: " + note);
    DIST_RETURN_IF_ERROR(status);
    if (state) {
      if (!state->older.empty())
        printNote("dist-run: note: " + listSteps(state->older) +
                  " passed over: step " + std::to_string(state->id.step) +
                  " is newer");
      EvaluationRow row;
      setActivity("evaluating");
      DIST_RETURN_IF_ERROR(evaluateState(options, session, data, *state, &row));
      DIST_RETURN_IF_ERROR(results.add(row));
      lastNews = now();
      continue;
    }
    if (end.isThere()) {
      printNote("dist-run: note: the run in " + options.checkpoint +
                " has ended");
      return Status();
    }
    if (options.followTimeout > 0 && now() - lastNews >= options.followTimeout)
      return Status::error(
          StatusCode::Unavailable, "no new state", options.checkpoint,
          "none came for " + numberText(options.followTimeout) +
              " s (--follow-timeout), and the run has not "
              "ended",
          "look after the run, and start this again");
    if (isFirst && !states.runHasEnded())
      printNote("dist-run: note: waiting for a state in " + options.checkpoint);
    setActivity("waiting for a saved state");
    std::this_thread::sleep_for(kPause);
  }
}

} // namespace dist::tools
