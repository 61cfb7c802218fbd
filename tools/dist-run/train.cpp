//===- train.cpp - dist-run fit -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/file.h"
#include "runtime/core/number_text.h"
#include "runtime/train/trainer.h"
#include "tools/dist-run/cluster.h"
#include "tools/dist-run/commands.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/data_options.h"
#include "tools/dist-run/data_shards.h"
#include "tools/dist-run/elastic.h"
#include "tools/dist-run/fit_report.h"
#include "tools/dist-run/late_comer.h"
#include "tools/dist-run/launch.h"
#include "tools/dist-run/output.h"
#include "tools/dist-run/prepare.h"
#include "tools/dist-run/planned.h"
#include "tools/dist-run/program.h"
#include "tools/dist-run/scratch.h"
#include "tools/dist-run/served.h"
#include "tools/options/interrupt.h"
#include <sys/stat.h>

namespace dist::tools {

/// What was done before a signal, and how to go on.
static std::string describeStop(const Options &options,
                                const FitOutcome &outcome) {
  std::string text = std::string("dist-run: note: ") +
                     (interruptedBy() ? signalName(interruptedBy())
                                      : "another worker was told to stop") +
                     ": stopped after step " + std::to_string(outcome.step) +
                     " of " + std::to_string(outcome.lastStep);
  if (outcome.saved)
    text += ", saved in " + options.checkpoint +
            "; the same command with --resume goes on";
  else if (outcome.step == 0)
    text += "; there was nothing to save";
  else
    text += options.checkpoint.empty()
                ? "; nothing is saved without --checkpoint DIR"
                : "; that step is not saved";
  if (options.outputs.empty())
    return text;
  bool hasBest = !options.monitors.saveBest.metric.empty();
  return text + "; " + options.outputs[0] +
         (hasBest ? " is of the best epoch so far" : " is not written");
}

/// Whether --output holds the best epoch's model, of this run or one before.
static Status checkBest(const Options &options, const FitOutcome &outcome,
                        bool written) {
  struct stat info;
  const std::string &metric = options.monitors.saveBest.metric;
  if (written ||
      (outcome.bestEpoch > 0 && stat(options.outputs[0].c_str(), &info) == 0))
    return Status();
  if (outcome.bestEpoch == 0)
    return Status::error(StatusCode::InvalidInput, "there is no best epoch",
                         "--save-best", "none had a number for " + metric,
                         "look at the history");
  return Status::error(StatusCode::InvalidInput, "the best model is not here",
                       options.outputs[0],
                       "epoch " + std::to_string(outcome.bestEpoch) +
                           " was the best, before this run went on",
                       "give the --output of that time");
}

/// A watch and what its keys are.
static std::string describe(const Watch &watch,
                            const std::vector<double> &keys = {}) {
  if (watch.metric.empty())
    return "none";
  std::string all = watch.metric + " min-delta=" + numberText(watch.minDelta);
  for (double key : keys)
    all += " " + numberText(key);
  return all;
}

/// What they must do alike, so that each step of one has its counterpart in the
/// others.
static Settings describeRun(const Options &options, const Dataset &data,
                            const Dataset *validation, const DataShards &shards,
                            OnNonfinite onNonfinite) {
  auto number = [](int64_t value) { return std::to_string(value); };
  const EarlyStopping &stopping = options.monitors.earlyStopping;
  const ReduceOnPlateau &plateau = options.monitors.reduceOnPlateau;
  Settings settings = shards.settings;
  for (auto &setting : describeData(options, data))
    // Files of a worker's own have what they have.
    if (setting.first != "data" || shards.policy != ShardPolicy::File)
      settings.push_back(setting);
  // Those that take their rows of what all read; others may have their own.
  if (shards.policy == ShardPolicy::Data)
    settings.emplace_back("values in --data", digestOf(data));
  Settings more = {
      {"validation data",
       validation ? number(validation->examples()) + " examples" : "none"},
      {"values in validation data",
       validation ? digestOf(*validation) : "none"},
      {"--epochs", options.epochsGiven || options.steps == 0
                       ? number(options.epochs)
                       : "not given"},
      {"--steps", number(options.steps)},
      {"--steps-per-epoch", number(options.stepsPerEpoch)},
      {"--steps-per-launch", number(options.stepsPerLaunch)},
      {"--shuffle", options.shuffle ? std::to_string(*options.shuffle) : "off"},
      {"--drop-remainder", options.dropRemainder ? "yes" : "no"},
      {"--on-nonfinite", onNonfinite == OnNonfinite::Continue ? "continue"
                         : onNonfinite == OnNonfinite::Skip   ? "skip"
                                                              : "stop"},
      {"--checkpoint", options.checkpoint.empty() ? "none" : "given"},
      {"--save-every", number(options.saveEvery)},
      {"--async-save", options.asyncSave ? "yes" : "no"},
      {"--resume", options.resume ? "yes" : "no"},
      {"--elastic", options.elastic ? number(options.minWorkers) : "no"},
      {"--early-stopping", describe(stopping, {double(stopping.patience),
                                               double(stopping.restoreBest)})},
      {"--save-best", describe(options.monitors.saveBest)},
      {"--reduce-lr-on-plateau",
       describe(plateau,
                {plateau.factor, plateau.minRate, double(plateau.patience),
                 double(plateau.cooldown)})}};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

/// A parameter server reads no data, and asks nothing of what is agreed on.
static int serve(ClusterRun &cluster, Session &session) {
  bool ignored = false;
  Status status = cluster.agreeOn({}, {});
  if (status.ok())
    status = cluster.askChief("--output", &ignored);
  if (!status.ok())
    return report(status);
  cluster.endStart();
  return cluster.served()->serve(session);
}

/// Trains until the end, or until other workers are lost that this run goes on
/// without: `goesOn`.
static int fitOnce(const Options &options, HandedOn *handedOn,
                   ClusterRun &cluster, Elastic &elastic,
                   const LateComer &lateComer, bool *goesOn);

/// Compiles for a run that may come.
static int prepareFit(const Options &options) {
  Program program;
  CompileFailure failure;
  Status status = makeProgram(options, openingArguments(options, kDefaultBatch),
                              &program, &failure);
  return failure.exitCode ? failure.exitCode : report(status);
}

/// As if it had been killed: others go on without one that is, and end with one
/// that leaves.
[[noreturn]] static void endWithoutLeaving(int code) {
  removeScratchFolders();
  std::_Exit(code);
}

int runFit(const Options &options) {
  if (Options others = options; takePreparation(&others))
    return prepareFit(others);
  if (options.data.empty())
    return report(needs("no training data", "--data"));
  if (!isPackage(options.model) && options.losses.empty())
    return report(needs("no loss", "--loss", kLossNames));
  if (options.outputs.size() > 1)
    return report(Status::error(StatusCode::InvalidArgument,
                                "more than one --output", "fit", "",
                                "give one file or folder"));
  Status status = checkForm("--plot", options.plot, ".svg");
  for (const std::string *file : {&options.trace, &options.history})
    if (status.ok())
      status = checkWritable(*file);
  if (status.ok() && !options.outputs.empty())
    status = checkModelName(options.outputs[0]);
  if (status.ok())
    status = checkPlaces(
        {modelPlace(options.outputs.empty() ? "" : options.outputs[0]),
         {"--history", options.history},
         {"--trace", options.trace},
         {"--plot", options.plot},
         {"--tensorboard", options.tensorboard, ResultKind::Folder},
         {"--checkpoint", options.checkpoint, ResultKind::Folder}});
  if (!status.ok())
    return report(status);
  HandedOn handedOn;
  FolderClaim &folder = handedOn.folder;
  folder.use = options.resume      ? FolderUse::Resume
               : options.overwrite ? FolderUse::Overwrite
                                   : FolderUse::New;
  int processes = 1, servers = 0;
  status = countProcesses(options, &processes, &servers);
  if (status.ok())
    status = checkServed(options, servers);
  if (!status.ok())
    return report(status);
  bool launches = launchesWorkers(options);
  ClusterRun cluster;
  if (!launches)
    status = cluster.find(options);
  if (status.ok() && !launches && !cluster.isCluster() && options.metricsPort)
    status = Status::error(
        StatusCode::InvalidArgument, "a run in one process serves no metrics",
        "--metrics-port", "", "leave it out, or train with several --workers");
  // Not after the model was compiled, workers were started and the data read.
  // The first task's process may be one that the others are to take in.
  const bool mayBeLate = options.elastic && options.store && !launches;
  auto checkFolder = [&] {
    return !options.checkpoint.empty() && cluster.isChief()
               ? checkCheckpointFolder(options.checkpoint, folder.use)
               : Status();
  };
  if (status.ok() && !mayBeLate)
    status = checkFolder();
  if (!status.ok())
    return report(status);
  if (launches)
    return isToBePlanned(options) ? runPlanned(options, kDefaultBatch)
                                  : launchWorkers(options, kDefaultBatch);
  const LateComer lateComer(options, cluster, servers > 0);
  if (lateComer.isTooLate())
    return 0;

  Options present = options;
  Elastic elastic(options);
  bool isLate = false;
  if (options.elastic && cluster.isCluster()) {
    status = cluster.meet(&present, &isLate);
    if (status.ok() && isLate)
      status = elastic.beginLate();
    else if (status.ok() && mayBeLate)
      status = checkFolder();
    if (!status.ok())
      return lateComer.report(status);
    if (isLate && !options.checkpoint.empty())
      folder.use = FolderUse::Resume;
  }
  while (true) {
    bool goesOn = false;
    const bool wasChief = cluster.isChief();
    int code =
        fitOnce(present, &handedOn, cluster, elastic, lateComer, &goesOn);
    // What one lacks that has come to others ends none of them.
    if (!goesOn && isLate && !handedOn.isBegun &&
        code == exitCodeOf(StatusCode::Unavailable))
      endWithoutLeaving(code);
    if (!goesOn)
      return code;
    // Also where nothing was kept yet: others may have been further.
    status = elastic.store();
    if (status.ok())
      status = cluster.regroup(&present);
    if (!status.ok())
      return report(status);
    if (cluster.isChief())
      printNote("dist-run: note: going on with " +
                std::to_string(present.workers) +
                (present.workers == 1 ? " worker" : " workers"));
    folder.takesOver = cluster.isChief() && (!wasChief || folder.takesOver);
  }
}

static int fitOnce(const Options &options, HandedOn *handedOn,
                   ClusterRun &cluster, Elastic &elastic,
                   const LateComer &lateComer, bool *goesOn) {
  Program program;
  std::unique_ptr<Session> session;
  bool isOver = false; // whatever its exit code is
  auto fails = [&](const Status &failed) {
    isOver = true;
    *goesOn = cluster.beginsAgain(options, failed);
    return *goesOn ? 0 : lateComer.report(failed);
  };
  Status status = cluster.beginEpoch(options);
  if (!status.ok())
    return fails(status);
  if (int code = openProgram(options, kDefaultBatch, &program, &session,
                             nullptr, &cluster, fails);
      code || isOver)
    return code;
  ServedRun *served = cluster.served();
  if (served && served->isServer())
    return serve(cluster, *session);
  const manifest::Entry *entry = trainingEntry(*session);
  if (!entry)
    return report(Status::error(
        StatusCode::InvalidInput, "the package has no training step",
        options.model, "", "compile it again with --loss"));
  setActivity("reading the data");
  std::unique_ptr<Dataset> data, validation;
  HeldPackage package;
  if (!options.outputs.empty()) {
    status =
        checkModelForm(program.folder, session->manifest(), options.outputs[0]);
    if (status.ok())
      status = package.hold(program.folder);
  }
  DataShards shards;
  if (status.ok())
    status = DataShards::decide(options, *session, &shards);
  if (status.ok()) {
    if (cluster.isChief() && !served && !shards.note.empty())
      printNote("dist-run: note: " + shards.note);
    DataOptions reading =
        dataOptions(options, session->manifest(), options.data, false);
    shards.limit(*session, &reading);
    status = Dataset::open(reading, *entry, &data);
  }
  if (status.ok() && options.validationSplit > 0)
    status = data->split(options.validationSplit, &validation);
  if (status.ok() && !options.validationData.empty())
    status = Dataset::open(
        dataOptions(options, session->manifest(), options.validationData, true),
        *entry, &validation);
  if (!status.ok())
    return fails(status);

  if (cluster.isCluster())
    status = cluster.agreeOn(
        describeRun(options, *data, validation.get(), shards,
                    chooseOnNonfinite(options, session->manifest())),
        {options.history, options.trace});
  bool writesModel = !options.outputs.empty();
  if (status.ok())
    status = cluster.askChief("--output", &writesModel);
  if (!status.ok())
    return fails(status);
  if (validation && cluster.isChief())
    noteWeights(*session, *validation);
  FitOptions fitOptions;
  fitOptions.epochs = options.epochsGiven ? options.epochs : 0;
  fitOptions.steps = options.steps;
  fitOptions.stepsPerEpoch = options.stepsPerEpoch;
  fitOptions.shuffle = options.shuffle;
  fitOptions.dropRemainder = options.dropRemainder;
  fitOptions.shardPolicy = shards.policy;
  fitOptions.prefetch = options.prefetch;
  fitOptions.stepsPerLaunch = options.stepsPerLaunch;
  fitOptions.onNonfinite = chooseOnNonfinite(options, session->manifest());
  fitOptions.checkpoint = options.checkpoint;
  fitOptions.saveEvery = options.saveEvery;
  fitOptions.keep = options.keep;
  fitOptions.asyncSave = options.asyncSave;
  fitOptions.folder = handedOn->folder;
  fitOptions.monitors = options.monitors;
  fitOptions.kept = elastic.kept();
  fitOptions.keptIn = elastic.folder();
  if (served && served->isWorker()) {
    cluster.endStart();
    return served->work(*session, *data, validation.get(), fitOptions);
  }
  if (served) {
    status =
        served->coordinate(options, validation.get(), &session, &fitOptions);
    if (!status.ok())
      return report(status);
  }
  if (cluster.isChief())
    for (const std::string &note : modelNotes(session->manifest()))
      printNote("dist-run: warning: " + note);
  cluster.prepare(options);
  Shield shield("finishing the step and saving");
  Reporter reporter(options, package, *session, cluster, elastic, handedOn);
  FitOutcome outcome;
  status =
      fit(*session, *data, validation.get(), fitOptions, reporter, &outcome);
  handedOn->isBegun |= outcome.begun;
  if (outcome.folder) {
    outcome.folder->takesOver = handedOn->folder.takesOver;
    handedOn->folder = *outcome.folder;
  }
  Status unsaved; // of a run that is whole otherwise
  if (outcome.done)
    std::swap(unsaved, status);
  if (status.ok())
    status = cluster.check();
  if (!status.ok() && options.elastic && cluster.hasLostOthers(status)) {
    printNote("dist-run: note: " + cluster.explain(status).message());
    // Who is told to stop now still goes on, to save with those that are left.
    shield.dismiss();
    *goesOn = true;
    return 0;
  }
  if (status.ok() && outcome.stopped && options.elastic) {
    status = cluster.agreeToGrow(goesOn);
    if (status.ok() && *goesOn && !unsaved.ok() && cluster.isChief())
      reporter.note(unsaved.message() + "; training goes on");
    if (status.ok() && *goesOn)
      return 0;
  }
  if (status.ok() && outcome.endedAfter > 0 && cluster.isChief())
    printNote("dist-run: note: early stopping after epoch " +
              std::to_string(outcome.endedAfter) + ": " +
              options.monitors.earlyStopping.metric + " did not get better");
  bool isStopped = status.ok() && outcome.stopped;
  if (isStopped && (cluster.isChief() || interruptedBy()))
    printNote(describeStop(options, outcome));
  else if (isStopped)
    ; // The others tell of it.
  else if (status.ok() && !reporter.unwrittenBest.ok())
    status = reporter.unwrittenBest;
  else if (status.ok() && !options.monitors.saveBest.metric.empty())
    status = cluster.isChief() ? checkBest(options, outcome, reporter.wroteBest)
                               : Status(); // the chief's file is nobody else's
  else if (status.ok() && writesModel)
    status = writeModel(package, *session, firstOutput(options));
  const bool isWhole = outcome.done && !outcome.stopped;
  addFailure(&status, std::move(unsaved));
  reporter.finish(isWhole, &status);
  // Until now: what is written at the end is read from the servers. They are
  // told of what failed, too, and end with that error.
  if (served)
    served->end(status, outcome);
  if (status.ok() && cluster.isCluster())
    printNote("dist-run: note: " + cluster.describeTraffic());
  shield.dismiss();
  int code = report(cluster.explain(status));
  if (code != 0 || !(isStopped || interruptedBy()))
    return code;
  // All processes of a cluster have saved the same step: its job is to be
  // started again.
  if (cluster.isCluster() && outcome.saved)
    return kResumableExit;
  return interruptedBy() ? 128 + interruptedBy() : kStoppedExit;
}

} // namespace dist::tools
