//===- open_files.cpp - Whether a cluster's files can be open -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/open_files.h"
#include <algorithm>
#include <sys/resource.h>

namespace dist::cluster {

// Counted at work: 27 files in a process with one device, its streams among
// them, 13 to 16 for each device more, and of each other process 1 to 3, 3 in
// the one that serves the store.
static constexpr int kOfProcess = 27, kOfDevice = 12;
/// Streams, and what the starter reads its folders and signals by.
static constexpr int kOfStarter = 6;
/// Of each process that it starts: a port, and what the process says.
static constexpr int kOfStarted = 2;

static int filesOfProcess(int devices, int connections) {
  return kOfProcess + kOfDevice * (devices - 1) + connections;
}

static Status check(int least) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= rlim_t(least))
    return Status();
  std::string about = std::to_string(2 * least);
  return Status::error(
      StatusCode::Unavailable, "too few files may be open", "ulimit -n",
      "the limit is " + std::to_string(limit.rlim_cur) +
          ", and a process of this cluster has about " + about + " open",
      "raise it: ulimit -n " + about +
          (limit.rlim_max < 2 * rlim_t(least)
               ? ", for which its hard limit (ulimit -Hn) is too low, too"
               : ""));
}

Status checkOpenFiles(const ClusterSpec &spec, int devices, bool servesStore) {
  bool isServer = servesStore && spec.self && *spec.self == spec.chief();
  return check(
      filesOfProcess(devices, isServer ? int(spec.tasks().size()) - 1 : 0));
}

Status checkOpenFilesOfAll(int processes, int devices) {
  return check(std::max(filesOfProcess(devices, 0),
                        kOfStarter + kOfStarted * processes));
}

} // namespace dist::cluster
