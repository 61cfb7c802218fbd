//===- fit_report.cpp - What dist-run fit tells and writes ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/fit_report.h"
#include "runtime/formats/file.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/output.h"
#include "tools/options/interrupt.h"
#include <chrono>

namespace dist::tools {

std::string firstOutput(const Options &options) {
  return options.outputs.empty() ? "" : options.outputs[0];
}

void addFailure(Status *first, Status more) {
  if (first->ok())
    *first = std::move(more);
  else if (!more.ok())
    printNote("dist-run: warning: " + more.message());
}

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Of what is told once more, as its steps are done again, the last counts.
template <class Row>
static void add(std::vector<Row> *rows, const Row &row, int64_t Row::*number) {
  while (!rows->empty() && rows->back().*number >= row.*number)
    rows->pop_back();
  rows->push_back(row);
}

/// Steps are worth more than what is told of them: a full disk is an error when
/// the run has ended.
void Reporter::goOnWithout(Status status) {
  if (status.ok() || !told->unwritten.ok())
    return;
  printNote("dist-run: warning: " + status.message() +
            "; training goes on, and lines are missing there");
  told->unwritten = std::move(status);
}

Status Reporter::begin(int64_t resumedStep, int64_t epochCount) {
  epochs = epochCount;
  bar = std::make_unique<Bar>(terminalColumns(), epochs);
  // What this process has not told itself is drawn as its history has it.
  ToldRows before;
  const bool drawsBefore = hasPlot && told->steps.empty();
  if (hasHistory)
    DIST_RETURN_IF_ERROR(history.open(options.history, resumedStep,
                                      drawsBefore ? &before : nullptr));
  for (const StepRow &row : before.steps)
    add(&told->steps, row, &StepRow::step);
  for (const EpochRow &row : before.epochs)
    add(&told->epochs, row, &EpochRow::epoch);
  if (hasEvents)
    DIST_RETURN_IF_ERROR(
        events.open(options.tensorboard, resumedStep > 0 || told->isBegun
                                             ? std::optional(resumedStep)
                                             : std::nullopt));
  return Status();
}

Status Reporter::step(const StepRow &row) {
  cluster.endStart();
  DIST_RETURN_IF_ERROR(cluster.check());
  cluster.done(row);
  if (hasHistory)
    goOnWithout(history.add(row));
  if (hasEvents)
    goOnWithout(
        events.add(row.step, {{"loss", row.loss}, {"lr", row.learningRate}}));
  if (!options.plot.empty())
    add(&told->steps, row, &StepRow::step);
  if (hasTrace) // A launch's spans all come with its first row.
    traced.add(session.takeTrace());
  if (isChief && hasTerminal())
    drawBar(bar->step(row, now()));
  grows = options.elastic && cluster.hasNewcomers();
  elastic.forget();
  lastStep = row.step;
  return Status();
}

Status Reporter::epoch(const EpochRow &row, int64_t examples) {
  if (hasHistory)
    goOnWithout(history.add(row));
  if (hasEvents) {
    std::vector<std::pair<std::string, double>> values;
    for (auto &[name, value] : row.values)
      values.emplace_back("epoch/" + name, value);
    goOnWithout(events.add(lastStep, values));
  }
  told->last = row;
  if (!options.plot.empty())
    add(&told->epochs, row, &EpochRow::epoch);
  if (isChief)
    printNote(epochLine(row, epochs, examples));
  return Status();
}

Status Reporter::improved(const EpochRow &row, bool *written) {
  unwrittenBest = writeModel(package, session, firstOutput(options));
  *written = unwrittenBest.ok();
  wroteBest |= *written;
  if (*written)
    return Status();
  DIST_RETURN_IF_ERROR(cluster.check());
  if (isChief)
    printNote("dist-run: warning: " + unwrittenBest.message() +
              "; training goes on, and the model of epoch " +
              std::to_string(row.epoch) + " is not kept");
  return Status();
}

void Reporter::note(const std::string &text) {
  if (isChief)
    printNote("dist-run: note: " + text);
}

bool Reporter::stops() { return interruptedBy() != 0 || grows; }

void Reporter::finish(bool whole, Status *status) {
  const bool isTraced = hasTrace && !traced.empty();
  const bool isPlotted = hasPlot && !told->steps.empty();
  // What is there may be of the run that did them.
  if (hasTrace && !isTraced && status->ok())
    note("no step was done: --trace is not written");
  if (hasPlot && !isPlotted && status->ok())
    note("no step was done: --plot is not written");
  if (isTraced)
    addFailure(status, writeFile(options.trace, traceJson(traced.get())));
  if (isPlotted)
    addFailure(status, writeFile(options.plot,
                                 plotSvg(told->steps, told->epochs,
                                         session.manifest().model_name())));
  const bool hasResult = options.json && whole && isChief;
  if (hasResult && told->last)
    addFailure(status, printResult(toJson(*told->last) + "\n"));
  else if (hasResult)
    note("no epoch was trained, so that there is no result for --json");
  // Who has stopped it goes on later, by the code for that. It was told.
  if (whole && status->ok())
    *status = told->unwritten;
}

} // namespace dist::tools
