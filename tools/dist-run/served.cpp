//===- served.cpp - A run whose variables servers hold --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/served.h"
#include "runtime/core/machine_figures.h"
#include "runtime/core/package_files.h"
#include "runtime/parameter_server/session_replica.h"
#include "runtime/parameter_server/session_shard.h"
#include "tools/dist-run/commands.h"
#include "tools/dist-run/console.h"
#include "tools/options/interrupt.h"
#include <algorithm>
#include <unistd.h>

namespace dist::tools {

Status checkServed(const Options &options, int servers) {
  if (servers == 0)
    return options.evaluationShards == 0
               ? Status()
               : Status::error(StatusCode::InvalidArgument,
                               "only workers of parameter servers evaluate in "
                               "parts",
                               "--evaluation-shards", "", "leave it out");
  const std::pair<const char *, bool> given[] = {
      {"--steps-per-launch", options.stepsPerLaunch > 1},
      {"--trace", !options.trace.empty()}};
  for (auto [option, isGiven] : given)
    if (isGiven)
      return Status::error(
          StatusCode::InvalidArgument, "not under parameter-server", option,
          "workers run steps one by one, in any order", "leave it out");
  return Status();
}

Status ServedRun::create(const std::string &package, const std::string &cpu,
                         const ps::Cast &cast, std::unique_ptr<Transport> end,
                         Beats beats, std::unique_ptr<ServedRun> *out) {
  auto made = std::make_unique<ServedRun>();
  made->cast = cast;
  DIST_RETURN_IF_ERROR(ps::Layout::read(package, cpu, &made->layout));
  made->beats = std::move(beats);
  made->open(std::move(end));
  *out = std::move(made);
  return Status();
}

void ServedRun::open(std::unique_ptr<Transport> end) {
  mail = std::make_unique<ps::Mail>(std::move(end), layout.largestLetter());
  mail->setWatch(beats.lost);
}

bool ServedRun::isGivenUp(const Status &failed) {
  Status known = beats.explain(failed);
  if (failed.ok() || known.message() == failed.message())
    return false;
  givenUp = known.message();
  return true;
}

bool ServedRun::comesBack() {
  setActivity("coming back to the other processes");
  mail.reset();
  std::unique_ptr<Transport> end;
  if (Status back = beats.comeBack(&cast, &end, &beats.lost); !back.ok()) {
    printNote("dist-run: note: it does not come back: " + back.message());
    return false;
  }
  printNote("dist-run: note: " + givenUp + ": it comes back");
  open(std::move(end));
  return true;
}

std::string ServedRun::ownPackage(const std::string &package) const {
  int server = cast.serverOf(mail->rank());
  return server >= 0 ? serverPath(package, server) : package;
}

std::string describeTraffic(const std::string &name, const Traffic &sent) {
  return name + " (process " + std::to_string(getpid()) + ") sent " +
         std::to_string(sent.messages) + " messages, " +
         std::to_string(sent.bytes) + " bytes";
}

static bool isTold() { return interruptedBy() != 0; }

int ServedRun::finish(const Status &status, ps::Ending ending) const {
  if (!status.ok())
    return report(beats.explain(status));
  printNote("dist-run: note: " + describeTraffic());
  switch (ending) {
  case ps::Ending::Saved:
    return kResumableExit;
  case ps::Ending::Stopped:
    return interruptedBy() ? 128 + interruptedBy() : kStoppedExit;
  case ps::Ending::Done:
    break;
  }
  return 0;
}

int ServedRun::serve(Session &session) {
  Shield shield("serving variables until the chief has saved them");
  std::unique_ptr<ps::SessionShard> shard;
  ps::Ending ending = ps::Ending::Done;
  Status status = ps::SessionShard::create(session, layout,
                                           cast.serverOf(mail->rank()), &shard);
  if (status.ok())
    status = ps::serve(*mail, *shard, {cast, isTold, beats.isIn}, &ending);
  shield.dismiss();
  return finish(status, ending);
}

int ServedRun::work(Session &session, const Dataset &data,
                    const Dataset *validation, const FitOptions &options) {
  std::unique_ptr<ps::SessionReplica> replica;
  std::unique_ptr<ps::EvaluatingReplica> evaluating;
  ps::Ending ending = ps::Ending::Done;
  auto create = [&] {
    DIST_RETURN_IF_ERROR(ps::SessionReplica::create(
        session, layout, &data,
        {options.shuffle, options.dropRemainder, options.onNonfinite},
        &replica));
    // Whether it is to is for the chief.
    return validation && layout.tables.empty()
               ? ps::EvaluatingReplica::create(session, layout, *validation,
                                               *replica, &evaluating)
               : Status();
  };
  bool isReady = false; // else nobody has given it up
  Status status = workShielded(
      "finishing the step",
      [&] {
        if (!isReady)
          DIST_RETURN_IF_ERROR(create());
        isReady = true;
        ps::Replica *all = evaluating
                               ? evaluating.get()
                               : static_cast<ps::Replica *>(replica.get());
        return ps::work(*mail, *all, {cast, isTold, beats.isIn}, &ending);
      },
      [&](const Status &failed) { return isReady && isGivenUp(failed); },
      [&] { return comesBack(); });
  return finish(status, ending);
}

/// Whether workers can evaluate, if they are to.
Status ServedRun::checkEvaluation(const Options &options,
                                  const Dataset *validation) const {
  if (options.evaluationShards == 0)
    return Status();
  if (!validation)
    return Status::error(StatusCode::InvalidArgument, "nothing to evaluate",
                         "--evaluation-shards", "there are no validation data",
                         "add --validation-data or --validation-split");
  return layout.tables.empty() ||
                 options.evaluationShards == Options::kAutoShards
             ? Status()
             : ps::EvaluatingReplica::refuseTables(layout);
}

Status ServedRun::decideParts(const Options &options, const Dataset *validation,
                              Session &session, int64_t *out) const {
  *out = options.evaluationShards;
  if (*out != Options::kAutoShards)
    return Status();
  ps::EvaluationDecision decision;
  if (layout.tables.empty()) {
    ps::EvaluationFacts facts;
    facts.workers = cast.workers;
    facts.servers = cast.servers;
    facts.parameterBytes = ps::parameterBytes(layout);
    facts.bytesPerSecond = MachineFigures().networkBytesPerSecond;
    DIST_RETURN_IF_ERROR(
        ps::ClosureEvaluation::measure(session, *validation, &facts));
    decision = ps::decideParts(facts);
  } else {
    decision.text = "--evaluation-shards auto takes 0: the chief evaluates, as "
                    "workers have of tables the rows of their steps alone";
  }
  printNote("dist-run: note: " + decision.text);
  *out = decision.parts;
  return Status();
}

Status ServedRun::coordinate(const Options &options, const Dataset *validation,
                             std::unique_ptr<Session> *session,
                             FitOptions *fitting) {
  ps::CoordinatorOptions coordinating;
  coordinating.cast = cast;
  coordinating.staleness = options.staleness;
  // Longer than any run is long enough, and no more than a clock can count.
  const std::chrono::duration<double> longest = std::chrono::hours(24 * 365);
  coordinating.patience =
      std::chrono::duration_cast<ps::Mail::Clock::duration>(std::min(
          std::chrono::duration<double>(options.collectiveTimeout), longest));
  // As long as it takes to start one again, and for it to load all it needs.
  if (options.maxRestarts > 0)
    coordinating.returnTime = std::chrono::minutes(2);
  coordinating.note = [](const std::string &line) {
    printNote("dist-run: note: " + line);
  };
  beats.takeBack(&coordinating);
  coordinator = std::make_unique<ps::Coordinator>(*mail, coordinating);
  std::unique_ptr<ps::ServedSession> served;
  Status status = checkEvaluation(options, validation);
  int64_t parts = 0;
  if (status.ok())
    status = decideParts(options, validation, **session, &parts);
  if (status.ok())
    status = ps::ServedSession::create(std::move(*session), layout,
                                       *coordinator, &served);
  if (!status.ok()) {
    end(status, FitOutcome());
    return status;
  }
  steps = std::make_unique<ps::ClosureRunner>(*coordinator, *served);
  if (parts > 0)
    evaluation = std::make_unique<ps::ClosureEvaluation>(
        *coordinator, *served, *validation, parts, layout.largestLetter());
  fitting->runner = steps.get();
  fitting->evaluator = evaluation.get();
  *session = std::move(served);
  return Status();
}

void ServedRun::end(const Status &why, const FitOutcome &outcome) {
  coordinator->end(why, !outcome.stopped ? ps::Ending::Done
                        : outcome.saved  ? ps::Ending::Saved
                                         : ps::Ending::Stopped);
}

std::string ServedRun::describeTraffic() const {
  return tools::describeTraffic(cast.names[mail->rank()], mail->traffic());
}

} // namespace dist::tools
