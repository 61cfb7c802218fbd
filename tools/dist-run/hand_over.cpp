//===- hand_over.cpp - dist-run without a cluster's engines ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loading gRPC and UCX takes three times as long as dist-run takes to start
// without: runs in one process do not pay for it. Where a run has several, this
// program becomes dist-run-cluster, the same with cluster.cpp, launch.cpp and
// status.cpp in this file's place.
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/cluster.h"
#include "tools/dist-run/commands.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/launch.h"
#include "tools/dist-run/prepare.h"
#include "tools/dist-run/program.h"
#include "tools/options/interrupt.h"
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace dist::tools {

struct ClusterRun::Impl {};
ClusterRun::ClusterRun() = default;
ClusterRun::~ClusterRun() = default;
void prepareCluster() {}

/// Returns only where that is impossible.
static Status becomeCluster() {
  std::string path = pathBeside("dist-run-cluster");
  std::vector<std::string> words = ownCommandLine();
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  restoreFailedWrites();
  execv(path.c_str(), argv.data());
  return Status::error(
      StatusCode::Unavailable, "cannot reach other processes", path,
      std::strerror(errno),
      errno == ENOENT ? "this build has no cluster: build it with libucx-dev "
                        "and libgrpc++-dev"
                      : "");
}

Status ClusterRun::find(const Options &options) {
  int processes = 1, servers = 0;
  DIST_RETURN_IF_ERROR(countProcesses(options, &processes, &servers));
  return processes > 1 || servers > 0 ? becomeCluster() : Status();
}
int launchWorkers(const Options &, int64_t) { return report(becomeCluster()); }
int launchPlainWorkers(const Options &) { return report(becomeCluster()); }
int runStatus(const Options &) { return report(becomeCluster()); }
int runCoordinator(const Options &) { return report(becomeCluster()); }
bool launchesWorkers(const Options &options) {
  return options.workers > 0 && !options.clusterFound;
}

// Of a process that is alone:
bool ClusterRun::isChief() const { return true; }
bool ClusterRun::isLeftAlone() const { return false; }
ServedRun *ClusterRun::served() const { return nullptr; }
Status ClusterRun::join(const Options &, const std::string &,
                        SessionOptions *) {
  return Status();
}
Status ClusterRun::connect(const Options &, const WorldOptions &, int *,
                           std::vector<int> *, std::shared_ptr<World> *) {
  return Status();
}
Status
ClusterRun::agreeOn(const std::vector<std::pair<std::string, std::string>> &,
                    const std::vector<std::string> &) {
  return Status();
}
Status ClusterRun::askChief(const std::string &, bool *) { return Status(); }
void ClusterRun::endStart() {}
void ClusterRun::done(const StepRow &) {}
Status ClusterRun::check() const { return Status(); }
Status ClusterRun::explain(const Status &failed) const { return failed; }
Status ClusterRun::meet(Options *, bool *) { return Status(); }
Status ClusterRun::beginEpoch(const Options &) { return Status(); }
bool ClusterRun::beginsAgain(const Options &, const Status &) { return false; }
bool ClusterRun::hasNewcomers() { return false; }
Status ClusterRun::agreeToGrow(bool *) { return Status(); }
void ClusterRun::prepare(const Options &) {}
bool ClusterRun::hasLostOthers(const Status &) { return false; }
Status ClusterRun::regroup(Options *) { return Status(); }
std::string ClusterRun::describeTraffic() const { return ""; }
std::string launchedPackage() { return ""; }
void forgetLaunchedPackage() {}
bool takePreparation(Options *) { return false; }
void takeLaunched(Options *) {}

} // namespace dist::tools
