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

// Counted at work: 36 files at the most in a process with one device, its
// streams and the files that it reads among them, and 13 to 16 for each device
// more. In the one that serves the store 37 with one other process, and 3 for
// each further one (40, 43); parameter servers take 0 to 4 more.
static constexpr int kOfProcess = 36, kOfDevice = 12, kOfServer = 34,
                     kOfServed = 3;
/// Of a store that nobody has reached yet, and of the fewest that meet there.
static constexpr int kOfStore = 14 + 2;
/// Streams, and what the starter reads its folders and signals by.
static constexpr int kOfStarter = 6;
static constexpr char kProcess[] = "a process of this cluster";
/// Of each process that it starts: a port, and what the process says.
static constexpr int kOfStarted = 2;

/// `served`: how many others meet in the store that it serves.
static int filesOfProcess(int devices, int served) {
  return std::max(kOfProcess, kOfServer + kOfServed * served) +
         kOfDevice * (devices - 1);
}

static Status check(int least, const std::string &who) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= rlim_t(least))
    return Status();
  std::string about = std::to_string(2 * least);
  return Status::error(
      StatusCode::Unavailable, "too few files may be open", "ulimit -n",
      "the limit is " + std::to_string(limit.rlim_cur) + ", and " + who +
          " has about " + about + " open",
      "raise it: ulimit -n " + about +
          (limit.rlim_max < 2 * rlim_t(least)
               ? ", for which its hard limit (ulimit -Hn) is too low, too"
               : ""));
}

Status checkOpenFiles(const ClusterSpec &spec, int devices, bool servesStore) {
  bool isServer = servesStore && spec.self && *spec.self == spec.chief();
  return check(
      filesOfProcess(devices, isServer ? int(spec.tasks().size()) - 1 : 0),
      kProcess);
}

Status checkOpenFilesOfAll(int processes, int devices, bool servesStore) {
  return check(
      std::max(filesOfProcess(devices, servesStore ? processes - 1 : 0),
               kOfStarter + kOfStarted * processes),
      kProcess);
}

Status checkOpenFilesOfStore() { return check(kOfStore, "a coordinator"); }

} // namespace dist::cluster
