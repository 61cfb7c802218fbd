//===- trainer.cpp - The host's loop over steps -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/trainer_impl.h"
#include "runtime/train/evaluation.h"
#include "runtime/train/sharding.h"
#include <algorithm>
#include <chrono>
#include <utility>

namespace dist {

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const manifest::Entry *trainingEntry(Session &session) {
  for (const char *name :
       {"train_step", "gradients", "train_step_partial", "gradients_partial"})
    if (const manifest::Entry *entry = session.findEntry(name))
      return entry;
  return nullptr;
}

Status Trainer::prepare() {
  accumulate = std::max(session.manifest().accumulate_steps(), 1);
  if (accumulate > 1 && options.runner)
    return Status::error(StatusCode::InvalidArgument,
                         "batches are not accumulated in other processes",
                         "--accumulate", "each makes an update of its own",
                         "leave it out");
  bool isWhole = accumulate == 1 && !options.runner;
  Status created = EntryPair::create(
      session, isWhole ? "train_step" : "gradients", &entries);
  if (created.ok() && accumulate > 1)
    created = EntryCall::create(session, "apply", &apply);
  std::vector<const EntryCall *> made = entries.calls();
  made.push_back(&apply);
  DIST_RETURN_IF_ERROR(ResultTeller::create(session, created, made, &teller));
  DIST_RETURN_IF_ERROR(Averaging::create(session, &averaging));
  if (averaging && options.kept)
    return Status::error(
        StatusCode::InvalidArgument, "this cannot be combined",
        "--sync-every with --elastic",
        "what a lost worker trained since the last average is nowhere else",
        "use --checkpoint DIR with --max-restarts");
  plan = entries.plan(session.manifest());
  plan.shuffle = options.shuffle;
  plan.dropRemainder = options.dropRemainder;
  plan.prefetch = options.prefetch;
  std::string note;
  DIST_RETURN_IF_ERROR(agreeOnShards(session, data.examples(),
                                     options.shardPolicy, &plan, &note));
  if (!note.empty())
    observer.note(note);

  int64_t perPass = BatchStream::batchesPerPass(data.examples(), plan);
  if (perPass == 0)
    return Status::error(StatusCode::InvalidInput, "no full batch",
                         "--drop-remainder",
                         "the data have " + std::to_string(data.examples()) +
                             " examples, a batch " + std::to_string(plan.batch),
                         "lower --batch-size or leave --drop-remainder out");
  stepsPerEpoch = options.stepsPerEpoch > 0 ? options.stepsPerEpoch : perPass;
  DIST_RETURN_IF_ERROR(findLastStep(options, stepsPerEpoch, &lastStep));
  DIST_RETURN_IF_ERROR(entries.checkShort(session.manifest(), data.examples(),
                                          plan, std::min(lastStep, perPass),
                                          "--drop-remainder or "));
  if (validation) {
    // Not after an epoch's work.
    EntryPair evaluating;
    BatchPlan whole;
    ResultTeller ofIts;
    DIST_RETURN_IF_ERROR(
        prepareEvaluation(session, *validation, &evaluating, &whole, &ofIts));
  }
  epochs = (lastStep + stepsPerEpoch - 1) / stepsPerEpoch;
  plan.hold = std::min({stepsPerLaunch(), lastStep, stepsPerEpoch});
  // With accumulation a batch and its update are two calls.
  DIST_RETURN_IF_ERROR(
      teller.prepare(std::min(plan.hold, averaging.stepsUntilDue(0)) *
                     (accumulate > 1 ? 2 : 1)));
  describeData(data, plan, options, &state);
  state.stepsPerEpoch = stepsPerEpoch;
  return monitors.check(metrics.names(), validation != nullptr);
}

/// The batches at the end that are too few for an update of --accumulate: they
/// are trained on in vain, unless the run is taken up again.
void Trainer::noteIncomplete() {
  int64_t batches = (lastStep - state.updatesFrom) % accumulate;
  if (batches > 0 && state.step < lastStep)
    observer.note("the last " + std::to_string(batches) +
                  " of the run's steps make no update: --accumulate takes " +
                  std::to_string(accumulate) + " for each");
}

/// `failure`: why it is no state; null: that is told.
Status Trainer::save(SaveAs which, Status *failure) {
  if (!saves)
    return Status();
  DIST_RETURN_IF_ERROR(saves->finish(nullptr));
  if (saves->saved() == state.step)
    return Status();
  DIST_RETURN_IF_ERROR(averaging.beforeReading(state.step));
  state.epochSeconds = now() - epochBegan;
  bool beside = options.asyncSave && which == SaveAs::One;
  DIST_RETURN_IF_ERROR(saves->begin(state, beside));
  return beside ? Status() : saves->finish(failure);
}

/// Without it the run's end would be lost to who resumes: that it cannot be
/// saved is an error, but not before all else is done.
Status Trainer::saveLast() {
  unsaved = Status();
  DIST_RETURN_IF_ERROR(save(SaveAs::Last, &unsaved));
  return unsaved.ok() ? Status() : folder->checkOwner(session);
}

/// Behind what an epoch's end changes.
Status Trainer::saveIfDue() {
  int64_t every = options.saveEvery > 0 ? options.saveEvery : stepsPerEpoch;
  bool ends = state.step == lastStep || monitors.stop();
  if (ends)
    return saveLast();
  return state.step % every == 0 ? save(SaveAs::One, nullptr) : Status();
}

/// Between averages nothing has to be said to other workers: not after each
/// step either whether they go on.
int64_t Trainer::stepsPerLaunch() const {
  return averaging ? std::max(options.stepsPerLaunch, kOwnSteps)
                   : options.stepsPerLaunch;
}

/// Steps until the host has something to do between two of them.
int64_t Trainer::stepsUntilDue() const {
  int64_t steps = std::min(lastStep - state.step,
                           stepsPerEpoch - state.step % stepsPerEpoch);
  if (options.saveEvery > 0)
    steps = std::min(steps, options.saveEvery - state.step % options.saveEvery);
  return std::min(steps, averaging.stepsUntilDue(state.step));
}

/// Runs `count` batches in one go, then tells of each.
Status Trainer::launch(BatchStream &stream, int64_t count) {
  size_t used = 0;
  auto add = [&](const Batch *batch, const EntryCall &entry) {
    if (calls.size() <= used)
      calls.emplace_back();
    Call &call = calls[used++];
    call.batch = batch;
    call.entry = &entry;
    entry.fill(*batch, &call.inputs);
  };
  double waited = 0;
  for (int64_t i = 1; i <= count; ++i) {
    double asked = now();
    const Batch *batch = stream.next();
    waited += now() - asked;
    EntryCall *entry = nullptr;
    DIST_RETURN_IF_ERROR(entries.choose(*batch, &entry));
    add(batch, *entry);
    if (accumulate > 1 &&
        (state.step + i - state.updatesFrom) % accumulate == 0)
      add(batch, apply);
  }
  stepCalls.clear();
  for (size_t i = 0; i < used; ++i)
    stepCalls.push_back(
        {&calls[i].entry->entry(), &calls[i].inputs, &calls[i].outputs});
  std::function<bool(size_t)> goOn;
  // Workers that train by themselves hear of it behind the launch: no update
  // is made of what is not finite.
  if (options.onNonfinite == OnNonfinite::Stop && used > 1 && !averaging)
    goOn = [this, used](size_t i) {
      // To end between a batch and its update would lose the batch.
      bool hasUpdate = i + 1 < used && calls[i + 1].batch == calls[i].batch;
      return calls[i].entry->read(calls[i].outputs).finite &&
             (hasUpdate || !observer.stops());
    };
  size_t done = 0;
  Status status = session.runSteps(stepCalls, goOn, &done);
  double time = now();
  stepSeconds = (time - stepBegan) / double(count);
  inputSeconds = waited / double(count);
  stepBegan = time;
  results.clear();
  for (size_t i = 0; i < done; ++i)
    results.push_back(calls[i].entry->read(calls[i].outputs));
  if (status.ok())
    DIST_RETURN_IF_ERROR(teller.tell(results.data(), results.size()));
  else if (teller.isTold())
    return status; // what the steps before gave stays untold
  for (size_t i = 0; i < done; ++i) {
    StepResult result = results[i], applied;
    const Batch &batch = *calls[i].batch;
    // A step counts when its update, which with accumulation is a call of its
    // own, is done. One whose numbers are not finite is recorded all the same:
    // they are why its update was left out.
    bool hasUpdate = i + 1 < used && calls[i + 1].batch == &batch;
    bool updated = hasUpdate && i + 1 < done;
    if (hasUpdate && !updated && result.finite)
      break;
    if (updated)
      applied = results[++i];
    DIST_RETURN_IF_ERROR(record(batch, result, updated ? &applied : nullptr));
  }
  return status;
}

/// The same by the runner, which tells of each when it ends.
Status Trainer::runElsewhere(int64_t count) {
  StepRunner &runner = *options.runner;
  DIST_RETURN_IF_ERROR(runner.begin(state.step, count));
  while (!runner.isDone()) {
    if (stops())
      runner.cancel();
    std::optional<StepDone> done;
    DIST_RETURN_IF_ERROR(runner.next(&done));
    if (!done)
      continue;
    double time = now();
    stepSeconds = time - stepBegan;
    stepBegan = time;
    Batch batch;
    batch.number = done->batch;
    batch.examples = done->examples;
    if (!done->result.finite && options.onNonfinite == OnNonfinite::Stop) {
      // Its error asks what the batch had, and what the variables hold, which
      // no step may change meanwhile.
      BatchMaker(data, plan).make(done->batch, &batch);
      runner.cancel();
      for (std::optional<StepDone> other; !runner.isDone();)
        DIST_RETURN_IF_ERROR(runner.next(&other));
    }
    DIST_RETURN_IF_ERROR(record(batch, done->result, nullptr));
  }
  return Status();
}

Status Trainer::record(const Batch &batch, const StepResult &result,
                       const StepResult *applied) {
  for (const StepResult *part : {&result, applied})
    if (part && part->hasLearningRate)
      learningRate = part->learningRate;
  DIST_RETURN_IF_ERROR(nonfiniteSteps.record(batch, result, applied, plan));
  ++state.step;
  state.epochLoss += double(result.loss) * double(batch.examples);
  state.epochExamples += batch.examples;
  StepRow row;
  row.epoch = (state.step - 1) / stepsPerEpoch + 1;
  row.step = state.step;
  row.examples = batch.examples;
  row.loss = result.loss;
  row.learningRate = learningRate;
  row.seconds = stepSeconds;
  row.inputSeconds = inputSeconds;
  row.stepOfEpoch = (state.step - 1) % stepsPerEpoch + 1;
  row.stepsOfEpoch =
      std::min(stepsPerEpoch, lastStep - (row.epoch - 1) * stepsPerEpoch);
  OwnWork work(session); // whoever is told writes, perhaps where it takes long
  return observer.step(row);
}

Status Trainer::endEpoch() {
  DIST_RETURN_IF_ERROR(averaging.beforeReading(state.step));
  TrainingState::PendingEpoch &row = state.pendingEpoch.emplace();
  if (!metrics.has("loss"))
    row.values.emplace_back("loss",
                            state.epochLoss / double(state.epochExamples));
  DIST_RETURN_IF_ERROR(metrics.read(&row.values));
  DIST_RETURN_IF_ERROR(metrics.reset());
  row.seconds = now() - epochBegan;
  row.examples = state.epochExamples;
  state.epochLoss = 0;
  state.epochExamples = 0;
  return validateAndTell();
}

/// The rest of an epoch's end. The row stays pending when it is broken off.
Status Trainer::validateAndTell() {
  EpochRow row;
  row.epoch = (state.step - 1) / stepsPerEpoch + 1;
  row.values = state.pendingEpoch->values;
  double began = now();
  if (validation) {
    Evaluation evaluation;
    auto ends = [this] { return stops(); };
    DIST_RETURN_IF_ERROR(
        evaluate(session, *validation, options, &evaluation, ends));
    if (evaluation.stopped)
      return Status();
    for (auto &[name, value] : evaluation.values)
      row.values.emplace_back("val_" + name, value);
  }
  row.seconds = state.pendingEpoch->seconds + now() - began;
  if (!epochResumed && session.manifest().ranks() > 1)
    row.exposedSeconds = session.exposedSeconds() - epochExposed;
  int64_t examples = state.pendingEpoch->examples;
  state.pendingEpoch.reset();
  state.epochSeconds = 0;
  epochBegan = stepBegan = now();
  epochExposed = session.exposedSeconds();
  epochResumed = false;
  OwnWork work(session);
  DIST_RETURN_IF_ERROR(observer.epoch(row, examples));
  return monitors.end(row);
}

Status Trainer::run(FitOutcome *outcome) {
  Status status = train(outcome);
  outcome->step = state.step; // after an error, too
  // What was saved before an error is as good as it was without one.
  if (!status.ok() && saves)
    (void)saves->finish(nullptr);
  return status;
}

Status Trainer::train(FitOutcome *outcome) {
  DIST_RETURN_IF_ERROR(prepare());
  DIST_RETURN_IF_ERROR(openFolder());
  if (folder)
    outcome->folder = folder->claimAgain();
  if (!options.keptIn.empty())
    DIST_RETURN_IF_ERROR(resumeKept());
  else
    DIST_RETURN_IF_ERROR(resumeSaved());
  averaging.begin(state.step);
  noteIncomplete();
  DIST_RETURN_IF_ERROR(observer.begin(state.step, epochs));
  if (folder) {
    DIST_RETURN_IF_ERROR(folder->begin(session));
    outcome->folder = folder->claimAgain();
  }
  outcome->begun = true;
  epochResumed = state.pendingEpoch || state.epochExamples > 0;
  if (state.pendingEpoch)
    DIST_RETURN_IF_ERROR(validateAndTell());
  if (state.step >= lastStep || monitors.stop())
    observer.note("nothing to do: " + std::to_string(state.step) +
                  " steps are done");
  plan.firstBatch = state.step;
  plan.endBatch = std::max(lastStep, state.step);
  std::optional<BatchStream> stream;
  if (!options.runner)
    stream.emplace(data, plan);
  stepBegan = now();
  epochBegan = stepBegan - state.epochSeconds;
  epochExposed = session.exposedSeconds();
  // The last step was saved, and a process lost before its epoch was told.
  if (isSavedSince && state.step >= lastStep && state.epochExamples > 0)
    DIST_RETURN_IF_ERROR(endEpoch());
  DIST_RETURN_IF_ERROR(keeping.keep(state, 0));
  // One was lost as this step was being saved, which has left nothing. Within
  // an epoch the last step is saved before it is kept.
  if (!options.keptIn.empty() && state.step > 0 &&
      (state.step < lastStep || state.step % stepsPerEpoch == 0))
    DIST_RETURN_IF_ERROR(saveIfDue());
  while (state.step < lastStep && !monitors.stop()) {
    // One that is told to stop stops all.
    bool goesOn = true;
    DIST_RETURN_IF_ERROR(session.agree(!stops(), &goesOn));
    if (!goesOn)
      break;
    if (saves)
      DIST_RETURN_IF_ERROR(saves->finishWritten());
    int64_t before = state.step;
    // Whoever ran entries before, and an earlier run that was ended within an
    // epoch, have left their counts.
    if (state.epochExamples == 0)
      DIST_RETURN_IF_ERROR(metrics.reset());
    DIST_RETURN_IF_ERROR(
        stream ? launch(*stream, std::min(stepsPerLaunch(), stepsUntilDue()))
               : runElsewhere(stepsUntilDue()));
    DIST_RETURN_IF_ERROR(averaging.afterStep(state.step));
    if (state.step == before)
      continue; // stopped before the first
    bool stopsWithin =
        state.step == lastStep && state.step % stepsPerEpoch != 0;
    // Who resumes goes on with the sums of the epoch.
    if (stopsWithin)
      DIST_RETURN_IF_ERROR(saveLast());
    if (state.step % stepsPerEpoch == 0 || stopsWithin)
      DIST_RETURN_IF_ERROR(endEpoch());
    state.epochSeconds = now() - epochBegan;
    DIST_RETURN_IF_ERROR(keeping.keep(state, stepSeconds));
    DIST_RETURN_IF_ERROR(saveIfDue());
  }
  bool isOver = state.step >= lastStep || monitors.stop();
  outcome->stopped = !isOver || state.pendingEpoch;
  if (outcome->stopped && state.step > 0)
    DIST_RETURN_IF_ERROR(saveLast());
  if (outcome->stopped) // whoever stopped it may go on from here
    DIST_RETURN_IF_ERROR(keeping.keepLast(state));
  outcome->step = state.step;
  outcome->lastStep = lastStep;
  outcome->saved = saves && saves->saved() == state.step;
  if (monitors.stop())
    outcome->endedAfter = state.step / stepsPerEpoch;
  outcome->bestEpoch = monitors.bestEpoch();
  OwnWork work(session);
  if (folder && !outcome->stopped && unsaved.ok())
    if (Status told = folder->end(session); !told.ok())
      observer.note("who follows " + options.checkpoint +
                    " is not told that this run has ended: " + told.message());
  // The saved state is the last epoch's: who resumes with more patience goes on
  // as if the run had not ended.
  if (!outcome->stopped)
    DIST_RETURN_IF_ERROR(monitors.restoreBest());
  outcome->done = true;
  return unsaved;
}

Status fit(Session &session, const Dataset &data, const Dataset *validation,
           const FitOptions &options, FitObserver &observer,
           FitOutcome *outcome) {
  FitOutcome ignored;
  return Trainer(session, data, validation, options, observer)
      .run(outcome ? outcome : &ignored);
}

} // namespace dist
