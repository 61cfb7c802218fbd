//===- cpu_part.cpp - Which CPUs a process of a cluster takes -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/cpu_part.h"
#include <algorithm>
#include <unistd.h>

namespace dist::tools {

bool isUnbound() {
  cpu_set_t own, parents;
  return sched_getaffinity(0, sizeof own, &own) == 0 &&
         sched_getaffinity(getppid(), sizeof parents, &parents) == 0 &&
         CPU_EQUAL(&own, &parents);
}

std::optional<cpu_set_t> choosePart(const cluster::ClusterSpec &spec,
                                    const std::vector<cluster::Task> &trainers,
                                    const std::vector<int> &cpus) {
  auto hostOf = [&](const cluster::Task &task) {
    const std::string &host = spec.find(task)->host;
    return cluster::isLoopback(host) ? "localhost"
                                     : cluster::canonicalHost(host);
  };
  const std::string here = hostOf(*spec.self);
  bool trains = std::count(trainers.begin(), trainers.end(), *spec.self) > 0;
  if (here.empty() || !trains)
    return std::nullopt;
  int count = 0, self = 0;
  for (const cluster::Task &task : trainers)
    if (hostOf(task) == here) {
      if (task == *spec.self)
        self = count;
      ++count;
    }
  int each = std::max(1, int(cpus.size()) / count);
  cpu_set_t part;
  CPU_ZERO(&part);
  for (int i = 0; i < each; ++i)
    CPU_SET(cpus[(self * each + i) % cpus.size()], &part);
  return part;
}

} // namespace dist::tools
