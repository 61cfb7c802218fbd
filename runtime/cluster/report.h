//===- report.h - A cluster as a table --------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_REPORT_H
#define RUNTIME_CLUSTER_REPORT_H

#include "runtime/cluster/cluster_spec.h"

namespace dist::cluster {

/// Each task with its address, ranks and duty, whence that is known, and how
/// many replicas they make. `devices` of a worker, and where that is from.
std::string formatCluster(const ClusterSpec &spec, int devices,
                          const std::string &devicesSource);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_REPORT_H
