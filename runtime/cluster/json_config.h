//===- json_config.h - A cluster as JSON text -------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_JSON_CONFIG_H
#define RUNTIME_CLUSTER_JSON_CONFIG_H

#include "runtime/cluster/cluster_spec.h"

namespace dist::cluster {

/// Reads TF_CONFIG's form, which cluster files have as well:
///   {"cluster": {"chief": ["HOST:PORT"], "worker": ["HOST:PORT", ...],
///                "ps": [...]},
///    "task": {"type": "worker", "index": 0}, "devices": 2}
/// A job may also be {"INDEX": "HOST:PORT", ...}. `source` names the text in
/// messages. The faults found; the cluster is not validated as a whole.
std::vector<Status> parseJsonConfig(const std::string &text,
                                    const std::string &source,
                                    ClusterSpec *spec);

/// `worker:1`, as --task has it.
Status parseTask(const std::string &text, const std::string &source,
                 Task *task);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_JSON_CONFIG_H
