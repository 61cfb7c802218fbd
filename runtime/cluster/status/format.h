//===- format.h - A cluster's status as text --------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_STATUS_FORMAT_H
#define RUNTIME_CLUSTER_STATUS_FORMAT_H

#include "runtime/cluster/heartbeat/heartbeat.pb.h"
#include <string>

namespace dist::cluster {

/// A table, for people.
std::string formatStatus(const proto::ClusterStatus &status);
/// One line of JSON; what is not known is null.
std::string formatStatusJson(const proto::ClusterStatus &status);
/// Prometheus' text format, version 0.0.4.
std::string formatMetrics(const proto::ClusterStatus &status);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_STATUS_FORMAT_H
