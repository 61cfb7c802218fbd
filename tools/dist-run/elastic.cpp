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
  // Lost before a step was done, again: what is in the folder stays.
  if (states.empty())
    return Status();
  scratch.remove();
  if (!hasRoom(kMemoryFolder, states.bytes()) ||
      !scratch.make(kMemoryFolder).ok())
    DIST_RETURN_IF_ERROR(scratch.make(temporaryPlace()));
  return states.write(scratch.getPath());
}

} // namespace dist::tools
