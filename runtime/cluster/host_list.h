//===- host_list.h - Slurm's lists of hosts and counts ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_HOST_LIST_H
#define RUNTIME_CLUSTER_HOST_LIST_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dist::cluster {

/// Expands `node[01-03,7],login` to node01, node02, node03, node7, login; a
/// name may have several brackets. What is wrong with the text, if anything.
std::optional<std::string> parseHostList(const std::string &text,
                                         std::vector<std::string> *hosts);

/// Expands `2(x3),1`, tasks on each node, to 2, 2, 2, 1.
std::optional<std::string> parseTaskCounts(const std::string &text,
                                           std::vector<int> *counts);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_HOST_LIST_H
