//===- served.h - A run whose variables servers hold ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chief coordinates: it trains as one process does, but that workers run
// its steps and servers hold its variables. Workers and servers do as they are
// told until the run is over.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_SERVED_H
#define TOOLS_DIST_RUN_SERVED_H

#include "runtime/parameter_server/closure_runner.h"
#include "runtime/parameter_server/evaluation.h"
#include "runtime/parameter_server/layout.h"
#include "runtime/train/trainer.h"
#include "tools/options/options.h"
#include <memory>

namespace dist::tools {

/// What `fit` has no counterpart of under parameter servers, by name; without
/// any, what is theirs alone.
Status checkServed(const Options &options, int servers);

/// What this process has sent, for the log; `name`: its own in the cluster.
std::string describeTraffic(const std::string &name, const Traffic &sent);

class ServedRun {
public:
  /// What the processes know of each other besides letters.
  struct Beats {
    ps::Mail::Watch lost;
    /// This process is in a closure.
    std::function<void(int64_t closure)> isIn;
    /// What an error comes from.
    std::function<Status(const Status &failed)> explain;
    /// The chief takes in workers that come back.
    std::function<void(ps::CoordinatorOptions *)> takeBack;
    /// A worker that the others have given up takes its place again, as another
    /// rank.
    std::function<Status(ps::Cast *cast, std::unique_ptr<Transport> *end,
                         ps::Mail::Watch *lost)>
        comeBack;
  };

  /// Reads how the variables of a package are spread; `end` reaches all ranks
  /// of `cast`.
  static Status create(const std::string &package, const std::string &cpu,
                       const ps::Cast &cast, std::unique_ptr<Transport> end,
                       Beats beats, std::unique_ptr<ServedRun> *out);

  bool isServer() const { return cast.serverOf(mail->rank()) >= 0; }
  bool isWorker() const { return cast.workerOf(mail->rank()) >= 0; }
  /// The package that this process runs.
  std::string ownPackage(const std::string &package) const;

  /// A server's run, and a worker's; their exit codes.
  int serve(Session &session);
  int work(Session &session, const Dataset &data, const Dataset *validation,
           const FitOptions &options);

  /// The chief's session with the servers' variables, in place of that of the
  /// package, and who runs its steps, and evaluates. The others are told of an
  /// error.
  Status coordinate(const Options &options, const Dataset *validation,
                    std::unique_ptr<Session> *session, FitOptions *fitting);
  /// Tells the others that the run is over. Once, from `coordinate` on.
  void end(const Status &why, const FitOutcome &outcome);

  std::string describeTraffic() const;

private:
  void open(std::unique_ptr<Transport> end);
  /// Whether the others have given this process up.
  bool isGivenUp(const Status &failed);
  /// Whether it is back with them.
  bool comesBack();
  Status checkEvaluation(const Options &options,
                         const Dataset *validation) const;
  /// --evaluation-shards, and what is chosen where that is `auto`.
  Status decideParts(const Options &options, const Dataset *validation,
                     Session &session, int64_t *out) const;
  int finish(const Status &status, ps::Ending ending) const;

  ps::Layout layout;
  ps::Cast cast;
  Beats beats;
  std::string givenUp; // what the others have against this process
  std::unique_ptr<ps::Mail> mail;
  std::unique_ptr<ps::Coordinator> coordinator;
  std::unique_ptr<StepRunner> steps;
  std::unique_ptr<EvaluationRunner> evaluation; // null: the session does
};

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_SERVED_H
