//===- cluster.h - The cluster as the tools read it -------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_OPTIONS_CLUSTER_H
#define TOOLS_OPTIONS_CLUSTER_H

#include "tools/options/options.h"

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

/// One line for a run in one process that the environment describes several
/// for; else empty.
std::string unusedClusterNote(const Options &options);

} // namespace dist::tools

#endif // TOOLS_OPTIONS_CLUSTER_H
