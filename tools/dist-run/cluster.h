//===- cluster.h - This process's part in a cluster -------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run under a strategy of several processes: each of them is a dist-run of
// its own, started by `--workers N` or by who set TF_CONFIG. They compile, or
// open, the same program, meet, and train in step. The chief alone tells of the
// training and writes what it gives.
//
// Under parameter-server the chief tells workers and servers what to do (see
// served.h); they meet in the same way.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_CLUSTER_H
#define TOOLS_DIST_RUN_CLUSTER_H

#include "runtime/comm/common/options.h"
#include "runtime/core/session.h"
#include "runtime/telemetry/rows.h"
#include "tools/options/options.h"
#include <memory>
#include <set>

namespace dist::tools {

class ServedRun;

/// Before the process has a second thread, and handlers of signals.
void prepareCluster();

class ClusterRun {
public:
  ClusterRun();
  ~ClusterRun();

  /// Reads who is in the cluster and which of them this is, where the strategy
  /// has several processes: nothing is compiled before it is known to be sound.
  /// Workers of one machine that nothing has bound to CPUs take a part of them
  /// each.
  Status find(const Options &options);
  bool isCluster() const { return impl != nullptr; }
  /// Who tells and writes; alone, this process. Another one when the chief was
  /// lost and the others have met again.
  bool isChief() const;

  /// Under --elastic, before the program is made: waits for the others.
  /// `isLate`: they have trained without this process, and take it in;
  /// `options` become those of a run of as many workers as they are now.
  Status meet(Options *options, bool *isLate);
  /// Whether this process has waited for the others for as long as it may, and
  /// not met them.
  bool isLeftAlone() const;
  /// Before an epoch's program is made: those that have met again watch each
  /// other from now on, so that a loss is noticed while they begin, too.
  Status beginEpoch(const Options &options);
  /// Waits for the others, which must have the same program, and gives what a
  /// session of all of them needs.
  Status join(const Options &options, const std::string &package,
              SessionOptions *settings);
  /// The same of processes that run no program, one rank each, over the
  /// options' mesh: which rank this is, and the machine of each.
  Status connect(const Options &options, const WorldOptions &world, int *rank,
                 std::vector<int> *hosts, std::shared_ptr<World> *out);
  /// Where parameter servers hold the variables: this process's part in that;
  /// null: all train in step. From `join` on.
  ServedRun *served() const;
  /// Whether all are about to do the same, as far as they do it: a process that
  /// says nothing of it has no part in it. `files`: those that each process
  /// writes of its own, if another one before it does not write there, too.
  Status agreeOn(const std::vector<std::pair<std::string, std::string>> &what,
                 const std::vector<std::string> &files);
  /// What the chief says of something that it alone decides, and the others
  /// take part in; `mine` becomes that.
  Status askChief(const std::string &what, bool *mine);
  /// Whether a file of `agreeOn` is this process's to write.
  bool writes(const std::string &file) const {
    return !isCluster() || mine.count(file) > 0;
  }
  /// All have begun, as a first step has shown.
  void endStart();
  /// Tells the others of a step; the chief prints what it has noticed of them.
  void done(const StepRow &row);
  /// Whether this process may go on, and write what is its to write: none of
  /// the others is lost, nor is it to them.
  Status check() const;
  /// What an error comes from, where the cluster knows it better.
  Status explain(const Status &failed) const;
  /// Begins to compile what those that are left would run if one were lost,
  /// where no other process of this machine does.
  void prepare(const Options &options);
  /// Whether this process can go on without those by whose loss its run, or the
  /// beginning of an epoch but the first, has failed: the chief is not among
  /// them, or there is a store without it. Waits until it is known.
  bool hasLostOthers(const Status &failed);
  /// The same of what failed before an epoch's first step; the first epoch's is
  /// an error of all. Tells of it.
  bool beginsAgain(const Options &options, const Status &failed);
  /// Whether workers wait to be taken in, as the chief sees now and then.
  bool hasNewcomers();
  /// Why all have stopped, which all ask together: to take those in, unless one
  /// of them was told to end.
  Status agreeToGrow(bool *grows);
  /// Meets those that are there, once the session is gone; `options` become
  /// those of a run of so many workers, which begins with `join` again.
  Status regroup(Options *options);
  /// What this process's ranks have sent to others, for the log.
  std::string describeTraffic() const;

private:
  Status joinServed(const Options &options, const std::string &package,
                    SessionOptions *settings);

  struct Impl;
  std::unique_ptr<Impl> impl;
  std::set<std::string> mine;
};

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_CLUSTER_H
