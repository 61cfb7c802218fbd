//===- cluster_impl.h - What a process has of its cluster -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_CLUSTER_IMPL_H
#define TOOLS_DIST_RUN_CLUSTER_IMPL_H

#include "runtime/cluster/heartbeat/heartbeat.h"
#include "runtime/cluster/membership/process.h"
#include "runtime/cluster/membership/served.h"
#include "runtime/cluster/membership/world.h"
#include "runtime/cluster/status/metrics_server.h"
#include "tools/dist-run/cluster.h"
#include "tools/dist-run/cpu_part.h"
#include "tools/dist-run/prepare.h"
#include "tools/dist-run/served.h"
#include <optional>
#include <sched.h>

namespace dist::tools {

using cluster::ClusterSpec;
using cluster::Membership;

struct ClusterRun::Impl {
  ClusterSpec spec;
  std::optional<cluster::JobSecret> secret;
  std::unique_ptr<Membership> membership;
  std::unique_ptr<cluster::Heartbeat> heartbeat;
  /// The epoch's before, until all have the new one, and its members.
  std::unique_ptr<cluster::Heartbeat> heartbeatBefore;
  std::vector<cluster::Member> membersBefore;
  bool isBegun = false;     // a step of the epoch was done
  bool isLeftAlone = false; // by others, at the start
  std::unique_ptr<cluster::MetricsServer> metrics; // the chief's, if asked for
  std::weak_ptr<MessageWorld> world;               // the session's
  Placement placement;
  std::unique_ptr<ServedRun> served; // null: all train in step
  // Of a process of parameter servers: what `served` is made with.
  ps::Cast cast;
  std::unique_ptr<Transport> end;
  std::string cpuVariant;
  /// Of which each process of this machine takes a part; none: it is bound.
  std::vector<int> allCpus;
  Preparation preparation;
  /// There is a store without it.
  bool canLoseChief = false;

  Traffic sent; // through worlds of epochs before

  void takePart(const std::vector<cluster::Task> &trainers) const {
    if (allCpus.empty())
      return;
    // Where it is refused they are slower, and no less right.
    if (std::optional<cpu_set_t> part = choosePart(spec, trainers, allCpus))
      (void)sched_setaffinity(0, sizeof *part, &*part);
  }
  /// Adds what this process's ranks have sent.
  void addTraffic(MessageWorld &world, Traffic *sum) const {
    for (int rank : placement.ranksOf(membership->self())) {
      Traffic one = world.traffic(rank);
      sum->bytes += one.bytes;
      sum->messages += one.messages;
    }
  }
  Status meetOthers(const Options &options);
  void takeMembers(Options *options);
  /// From now on processes that end, or are frozen, are lost to the others.
  Status watchEachOther(const Options &options);
  /// The same, and messages, of a process of parameter servers.
  Status enterServed(const Options &options);
  std::vector<int> findLost(bool waits) const;
  /// Whether the last epoch's heartbeat misses one of this epoch's; with this
  /// one's, too.
  Status checkBefore() const;
  Status checkOthers() const;
  Status serveMetrics(const Options &options);
  Status connectByMpi(const WorldOptions &options, std::shared_ptr<World> *out);

  bool usesMpi = false;
};

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_CLUSTER_IMPL_H
