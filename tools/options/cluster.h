//===- cluster.h - The cluster as the tools read it -------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_OPTIONS_CLUSTER_H
#define TOOLS_OPTIONS_CLUSTER_H

#include "tools/options/options.h"
#include <functional>

namespace dist::cluster {
struct Address;
struct ClusterSpec;
} // namespace dist::cluster

namespace dist::tools {

/// `--print-cluster`: the cluster that the command line, TF_CONFIG or a
/// launcher describes, as a table, or that there is none; `notes` and `faults`
/// for stderr. Asks the network about the addresses when this process is one of
/// the tasks.
struct ClusterReport {
  std::string text;
  std::vector<std::string> notes;
  std::vector<Status> faults;
};
ClusterReport describeCluster(const Options &options);

/// For a strategy that runs in several processes, where --workers does not say
/// how many: as many as the cluster has chief and workers, on so many hosts,
/// and the devices of each, if it says that and --devices do not. What was
/// found is added to `compileArguments`: the compiler looks for no cluster.
Status findWorkers(Options *options);

/// Makes of the options of a run those of one of other workers, on so many
/// hosts.
void setWorkers(Options *options, int workers, int hosts);

/// Whether anything describes a cluster, soundly or not.
bool describesCluster(const Options &options);

/// Whether this process is the evaluator beside the cluster that `fit` was
/// started for: no member of it.
bool isEvaluator(const Options &options);

/// Whether another process of `fit`'s cluster writes what the run gives.
bool isLedByAnother(const Options &options);

/// The cluster that this process is of, checked against the network as far as
/// one process can; what is wrong with it. There is none: that is wrong, too.
/// Names that are not known yet are waited for, which `note` hears of.
std::vector<Status>
findCluster(const Options &options, cluster::ClusterSpec *spec,
            const std::function<void(const std::string &)> &note);

/// The address to listen at that `coordinator` has in a model's place.
Status takeListenAddress(const Options &options, cluster::Address *out);

/// Where others reach what listens there: `http://10.0.0.1:80/metrics`, or with
/// a host for the reader to put in.
std::string describeListening(const std::string &scheme,
                              const cluster::Address &address,
                              const std::string &path);

/// Where the chief is that `dist-run status` asks: as the command line says, or
/// by the cluster that is described.
Status findChief(const Options &options, cluster::Address *out);

/// `9090` at this machine alone, `10.0.0.1:9090`, or `0.0.0.0:9090`.
Status parseMetricsPort(const std::string &text, std::string *host,
                        std::optional<int> *port);

/// `embedded`, for which there are none, `etcd://HOST:PORT,...` or
/// `coordinator://HOST:PORT`.
Status parseCommunicator(const std::string &text, bool *usesMpi);
Status parseCoordination(const std::string &text, cluster::SharedStore *store);

/// `23000:23999`, both of them included.
Status parsePortRange(const std::string &text, int *first, int *last);

/// One line for a run in one process that the environment describes several
/// for; else empty.
std::string unusedClusterNote(const Options &options);

} // namespace dist::tools

#endif // TOOLS_OPTIONS_CLUSTER_H
