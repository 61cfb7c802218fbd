//===- elastic.cpp - Going on with fewer workers --------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/elastic.h"
#include "tools/dist-run/program.h"
#include <filesystem>
#include <sys/statvfs.h>

namespace dist::tools {

/// Where most systems have a file system in memory.
static constexpr char kMemoryFolder[] = "/dev/shm";

/// Bytes that a folder's file system has free; -1: it has none.
static double roomIn(const std::string &folder) {
  struct statvfs info;
  return statvfs(folder.c_str(), &info) == 0
             ? double(info.f_bavail) * double(info.f_frsize)
             : -1;
}

Status Elastic::store() {
  // Lost before a step was done, again: what is in the folder stays. The first
  // time others may have something.
  if (states.empty())
    return folder().empty() ? makeForOthers() : Status();
  scratch.remove();
  // For these, and as much again.
  if (roomIn(kMemoryFolder) <= 2.0 * double(states.bytes()) ||
      !scratch.make(kMemoryFolder).ok()) {
    DIST_RETURN_IF_ERROR(scratch.make(temporaryPlace()));
    return states.write(scratch.getPath());
  }
  if (states.write(scratch.getPath()).ok())
    return Status();
  // Others of this machine have taken the room since.
  ScratchFolder full;
  full.swap(scratch);
  DIST_RETURN_IF_ERROR(scratch.make(temporaryPlace()));
  std::error_code error;
  std::filesystem::copy(full.getPath(), scratch.getPath(),
                        std::filesystem::copy_options::recursive, error);
  if (error)
    return Status::error(StatusCode::Unavailable, "cannot copy what was kept",
                         scratch.getPath(), error.message(),
                         "set TMPDIR to a folder with more room");
  return states.write(scratch.getPath());
}

/// For a state of others, of which nobody knows here how large it is: where
/// there is most room.
Status Elastic::makeForOthers() {
  scratch.remove();
  if (roomIn(kMemoryFolder) > roomIn(temporaryPlace()) &&
      scratch.make(kMemoryFolder).ok())
    return Status();
  return scratch.make(temporaryPlace());
}

Status Elastic::beginLate() { return makeForOthers(); }

} // namespace dist::tools
