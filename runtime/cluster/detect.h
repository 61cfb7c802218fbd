//===- detect.h - Where the cluster is described ----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_DETECT_H
#define RUNTIME_CLUSTER_DETECT_H

#include "runtime/cluster/launchers.h"

namespace dist::cluster {

/// What the command line says of the cluster.
struct ClusterRequest {
  /// TF_CONFIG, torchrun, slurm, mpi, kubernetes, or JSON text; empty: what is
  /// found.
  std::string source;
  /// Of a JSON text: how messages name it.
  std::string textName;
  /// Who this process is, if that does not say it.
  std::optional<Task> self;
  /// A cluster on this machine instead; 0: none.
  int workers = 0, servers = 0;
};

struct Detection {
  /// None: this process is alone.
  std::optional<ClusterSpec> spec;
  /// What the user should know of what was not used.
  std::vector<std::string> notes;
};

/// Looks where the cluster is described, reads it, and validates it. All
/// faults. Two descriptions that contradict each other are a fault, unless the
/// request names one.
std::vector<Status> detectCluster(const ClusterRequest &request,
                                  const Variables &variables,
                                  Detection *detection);

/// What is said when a strategy of one process runs although the environment
/// describes several; empty when it does not.
std::string explainUnused(const Variables &variables,
                          const std::string &strategy);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_DETECT_H
