//===- cpu_part.h - Which CPUs a process of a cluster takes -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_CPU_PART_H
#define TOOLS_DIST_RUN_CPU_PART_H

#include "runtime/cluster/cluster_spec.h"
#include <optional>
#include <sched.h>
#include <vector>

namespace dist::tools {

/// Whether the process may use what its parent may: a launcher, or taskset, has
/// bound it to CPUs of its own otherwise.
bool isUnbound();

/// The CPUs of this process. Workers on one machine take equal parts, in their
/// order: else the threads of all would be in each other's way. Parameter
/// servers and their chief take what workers leave: most of the time they wait
/// for them.
std::optional<cpu_set_t> choosePart(const cluster::ClusterSpec &spec,
                                    const std::vector<cluster::Task> &trainers,
                                    const std::vector<int> &cpus);

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_CPU_PART_H
