//===- evaluate.cpp - dist-run evaluate -----------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loss and metrics on data: of the model as it is, by one process or by a
// cluster's, or of the states that a run saves, by one process beside it.
//
//===----------------------------------------------------------------------===//
#include "runtime/telemetry/rows.h"
#include "runtime/train/trainer.h"
#include "tools/dist-run/cluster.h"
#include "tools/dist-run/commands.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/data_options.h"
#include "tools/dist-run/follow.h"
#include "tools/dist-run/launch.h"
#include "tools/dist-run/output.h"
#include "tools/dist-run/planned.h"
#include "tools/dist-run/program.h"
#include "tools/options/interrupt.h"

namespace dist::tools {

static Status openData(const Options &options, Session &session,
                       std::unique_ptr<Dataset> *out) {
  const manifest::Entry *entry = session.findEntry("eval_step");
  if (!entry)
    entry = session.findEntry("eval_step_partial");
  if (!entry)
    return Status::error(StatusCode::InvalidInput,
                         "the package has no evaluation step", options.model,
                         "", "compile it again with --loss");
  setActivity("reading the data");
  // The rest of what a run trains on, as that run has it.
  const bool isRest = options.isEvaluator && options.validationData.empty();
  std::unique_ptr<Dataset> data;
  DIST_RETURN_IF_ERROR(Dataset::open(
      dataOptions(options, session.manifest(), options.data, !isRest), *entry,
      &data));
  if (isRest)
    return data->split(options.validationSplit, out);
  *out = std::move(data);
  return Status();
}

static std::string formatResult(const Options &options,
                                const Evaluation &result) {
  std::string text;
  if (options.json) {
    text = "{\"examples\":" + std::to_string(result.examples);
    for (auto &[name, value] : result.values)
      text += "," + jsonString(name) + ":" + jsonNumber(value);
    return text + "}\n";
  }
  text = "examples " + std::to_string(result.examples);
  for (auto &[name, value] : result.values)
    text += ", " + name + " " + jsonNumber(float(value));
  return text + "\n";
}

int runEvaluate(const Options &options) {
  if (options.data.empty())
    return report(needs("no data", "--data"));
  if (!isPackage(options.model) && options.losses.empty())
    return report(needs("no loss", "--loss", kLossNames));
  if (Status status = checkWritable(options.history); !status.ok())
    return report(status);
  // What reads states is no member of a cluster, whatever the program is for.
  const bool readsStates = !options.checkpoint.empty();
  ClusterRun cluster;
  if (!readsStates) {
    if (launchesWorkers(options))
      return isToBePlanned(options) ? runPlanned(options, kDefaultBatch)
                                    : launchWorkers(options, kDefaultBatch);
    if (Status status = cluster.find(options); !status.ok())
      return report(status);
  }
  // Before the model is compiled, which may take as long as a short run.
  const RunFile found =
      options.follow ? readRunFile(options.checkpoint) : RunFile();
  Program program;
  std::unique_ptr<Session> session;
  if (int code = openProgram(options, kDefaultBatch, &program, &session,
                             nullptr, &cluster))
    return code;
  std::unique_ptr<Dataset> data;
  Status status = openData(options, *session, &data);
  if (status.ok() && cluster.isCluster()) {
    Settings settings = describeData(options, *data);
    settings.emplace_back("values in --data", digestOf(*data));
    status = cluster.agreeOn(settings, {});
  }
  if (status.ok() && cluster.isChief())
    noteWeights(*session, *data);
  if (status.ok() && options.follow)
    return report(followStates(options, found, *session, *data));
  if (status.ok() && readsStates)
    status = loadNewestState(options, *session);
  Evaluation result;
  setActivity("evaluating");
  if (status.ok())
    status = evaluate(*session, *data, options.prefetch, &result);
  if (status.ok())
    cluster.endStart();
  if (!status.ok() || !cluster.isChief())
    return report(status);
  return printReport(formatResult(options, result));
}

} // namespace dist::tools
