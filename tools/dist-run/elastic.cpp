//===- elastic.cpp - Going on with fewer workers --------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/elastic.h"
#include "tools/dist-run/program.h"
#include <sys/statvfs.h>

namespace dist::tools {

/// Where most systems have a file system in memory.
static constexpr char kMemoryFolder[] = "/dev/shm";

/// Whether a folder can take so much, and as much again.
static bool hasRoom(const char *folder, int64_t bytes) {
  struct statvfs info;
  return statvfs(folder, &info) == 0 &&
         double(info.f_bavail) * double(info.f_frsize) > 2.0 * double(bytes);
}

Status Elastic::store() {
  // Lost before a step was done, again: what is in the folder stays. The first
  // time others may have something.
  if (states.empty())
    return folder().empty() ? makeRoom(0) : Status();
  DIST_RETURN_IF_ERROR(makeRoom(states.bytes()));
  return states.write(scratch.getPath());
}

Status Elastic::makeRoom(int64_t bytes) {
  scratch.remove();
  if (hasRoom(kMemoryFolder, bytes) && scratch.make(kMemoryFolder).ok())
    return Status();
  return scratch.make(temporaryPlace());
}

Status Elastic::beginLate() { return makeRoom(0); }

} // namespace dist::tools
