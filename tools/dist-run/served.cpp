//===- served.cpp - A run whose variables servers hold --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/served.h"
#include "runtime/core/package_files.h"
#include "runtime/parameter_server/session_replica.h"
#include "runtime/parameter_server/session_shard.h"
#include "tools/dist-run/commands.h"
#include "tools/dist-run/console.h"
#include "tools/options/interrupt.h"
#include <algorithm>
#include <unistd.h>

namespace dist::tools {

Status checkServed(const Options &options) {
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
  made->mail =
      std::make_unique<ps::Mail>(std::move(end), made->layout.largestLetter());
  made->mail->setWatch(beats.lost);
  made->beats = std::move(beats);
  *out = std::move(made);
  return Status();
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
                    const FitOptions &options) {
  Shield shield("finishing the step");
  std::unique_ptr<ps::SessionReplica> replica;
  ps::Ending ending = ps::Ending::Done;
  Status status = ps::SessionReplica::create(
      session, layout, &data,
      {options.shuffle, options.dropRemainder, options.onNonfinite}, &replica);
  if (status.ok())
    status = ps::work(*mail, *replica, {cast, isTold, beats.isIn}, &ending);
  shield.dismiss();
  return finish(status, ending);
}

Status ServedRun::coordinate(const Options &options,
                             std::unique_ptr<Session> *session) {
  ps::CoordinatorOptions coordinating;
  coordinating.cast = cast;
  coordinating.staleness = options.staleness;
  // Longer than any run is long enough, and no more than a clock can count.
  const std::chrono::duration<double> longest = std::chrono::hours(24 * 365);
  coordinating.patience =
      std::chrono::duration_cast<ps::Mail::Clock::duration>(std::min(
          std::chrono::duration<double>(options.collectiveTimeout), longest));
  coordinating.note = [](const std::string &line) {
    printNote("dist-run: note: " + line);
  };
  coordinator = std::make_unique<ps::Coordinator>(*mail, coordinating);
  std::unique_ptr<ps::ServedSession> served;
  Status status = ps::ServedSession::create(std::move(*session), layout,
                                            *coordinator, &served);
  if (!status.ok()) {
    end(status, FitOutcome());
    return status;
  }
  steps = std::make_unique<ps::ClosureRunner>(*coordinator, *served);
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
