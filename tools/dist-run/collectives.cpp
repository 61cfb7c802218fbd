//===- collectives.cpp - dist-run bench --collectives ---------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/schedule/times.h"
#include "runtime/core/world.h"
#include "runtime/train/time_collectives.h"
#include "tools/dist-run/cluster.h"
#include "tools/dist-run/commands.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/launch.h"
#include "tools/dist-run/output.h"
#include "tools/options/interrupt.h"
#include <algorithm>
#include <cstdio>

namespace dist::tools {

/// The fastest all-reduces of each size, and where the table is.
static std::string describe(const CollectiveTimes &times,
                            const std::string &path) {
  std::string text;
  for (const CollectiveTime &row : times) {
    auto isRival = [&](const CollectiveTime &other) {
      return other.kind == row.kind && other.link == row.link &&
             other.ranks == row.ranks && other.bytes == row.bytes &&
             other.seconds < row.seconds;
    };
    if (row.kind != CollectiveKind::AllReduce ||
        std::any_of(times.begin(), times.end(), isRival))
      continue;
    char line[160];
    std::snprintf(line, sizeof line,
                  "all_reduce of %lld bytes, %lld ranks over %s: %s, %.1f us\n",
                  static_cast<long long>(row.bytes),
                  static_cast<long long>(row.ranks), name(row.link),
                  name(row.algorithm), row.seconds * 1e6);
    text += line;
  }
  return text + std::to_string(times.size()) + " rows written to " + path +
         "\n";
}

/// One rank a process.
static Status timeCluster(const Options &options, ClusterRun &cluster,
                          CollectiveTimes *times) {
  std::vector<int> hosts;
  std::shared_ptr<World> world;
  TimingOptions timing;
  WorldOptions worldOptions;
  timing.mesh = worldOptions.mesh = primeMesh(options.workers);
  worldOptions.timeout = options.collectiveTimeout;
  timing.seconds = options.seconds;
  int self = 0;
  DIST_RETURN_IF_ERROR(
      cluster.connect(options, worldOptions, &self, &hosts, &world));
  timing.link = [&](int64_t ranks) {
    return std::all_of(hosts.begin(), hosts.begin() + ranks,
                       [&](int host) { return host == hosts.front(); })
               ? LinkClass::Process
               : LinkClass::Network;
  };
  setActivity("timing collectives");
  Status status = timeCollectives(world->rank(self), timing, times);
  cluster.endStart();
  return status;
}

int runCollectives(const Options &options) {
  if (options.outputs.size() != 1)
    return report(Status::error(StatusCode::InvalidArgument,
                                "no file for the table", "--collectives", "",
                                "give --output FILE"));
  if (Status status = checkWritable(options.outputs.front()); !status.ok())
    return report(status);
  if (launchesWorkers(options))
    return launchPlainWorkers(options);
  ClusterRun cluster;
  Status status = cluster.find(options);
  CollectiveTimes times;
  if (status.ok() && cluster.isCluster())
    status = timeCluster(options, cluster, &times);
  else if (status.ok() && options.devices.size() < 2)
    status = Status::error(
        StatusCode::InvalidArgument, "one rank has nobody to talk to",
        "--collectives", "there is one device in one process",
        "give --workers N, or --devices cpu:N for devices of one process");
  else if (status.ok()) {
    setActivity("timing collectives");
    status = timeLocalCollectives(int64_t(options.devices.size()),
                                  options.seconds, &times);
  }
  if (!status.ok())
    return report(status);
  if (!cluster.isChief())
    return 0;
  const std::string &path = options.outputs.front();
  {
    Shield shield("writing the table");
    status = writeCollectiveTimes(path, times);
  }
  return status.ok() ? printReport(describe(times, path)) : report(status);
}

} // namespace dist::tools
