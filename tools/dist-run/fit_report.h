//===- fit_report.h - What dist-run fit tells and writes --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_FIT_REPORT_H
#define TOOLS_DIST_RUN_FIT_REPORT_H

#include "runtime/telemetry/bar.h"
#include "runtime/telemetry/last_steps.h"
#include "runtime/telemetry/writers.h"
#include "runtime/train/trainer.h"
#include "tools/dist-run/cluster.h"
#include "tools/dist-run/elastic.h"
#include "tools/dist-run/held_package.h"
#include <atomic>
#include <optional>

namespace dist::tools {

/// Where the trained model is written; empty: this process was not told.
std::string firstOutput(const Options &options);

/// The first is the run's error; what fails besides is told.
void addFailure(Status *first, Status more);

/// What a run goes on with from one set of workers to the next.
struct HandedOn {
  FolderClaim folder; // to --checkpoint's
  // What was told, for --json and --plot:
  std::optional<EpochRow> last;
  std::vector<StepRow> steps;
  std::vector<EpochRow> epochs;
  bool isBegun = false; // by this process
  Status unwritten;     // why a line of --history or --tensorboard is not there
};

/// Sends what the loop tells to terminal and files. Of a cluster's processes
/// the chief alone does, but for files that each has for itself.
class Reporter : public FitObserver {
public:
  Reporter(const Options &options, HeldPackage &package, Session &session,
           ClusterRun &cluster, Elastic &elastic, HandedOn *told)
      : options(options), package(package), session(session), cluster(cluster),
        elastic(elastic), isChief(cluster.isChief()),
        hasHistory(!options.history.empty() && cluster.writes(options.history)),
        hasTrace(!options.trace.empty() && cluster.writes(options.trace)),
        hasEvents(!options.tensorboard.empty() && isChief),
        hasPlot(!options.plot.empty() && isChief), told(told) {}

  Status begin(int64_t resumedStep, int64_t epochCount) override;
  Status step(const StepRow &row) override;
  Status epoch(const EpochRow &row, int64_t examples) override;
  /// A model that cannot be written ends no training either.
  Status improved(const EpochRow &row, bool *written) override;
  void note(const std::string &text) override;
  bool stops() override;

  /// Writes what is written once; a model before it. `whole`: not interrupted.
  /// `status`: what has failed until now, or does now: nothing else is left out
  /// for it.
  void finish(bool whole, Status *status);

  bool wroteBest = false; // --save-best has written --output
  Status unwrittenBest;   // why the best epoch's model is not there

private:
  void goOnWithout(Status status);

  const Options &options;
  HeldPackage &package;
  Session &session;
  ClusterRun &cluster;
  Elastic &elastic;
  const bool isChief, hasHistory, hasTrace, hasEvents, hasPlot;
  HistoryFile history;
  EventFile events;
  std::unique_ptr<Bar> bar;
  std::atomic<bool> grows{false}; // there are workers to be taken in
  int64_t epochs = 0, lastStep = 0;
  HandedOn *const told;
  LastSteps traced;
};

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_FIT_REPORT_H
