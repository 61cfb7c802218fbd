//===- scratch.cpp - A folder that goes away with its owner -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An owner holds a lock of its folder as long as it lives: who gets the lock of
// another's folder may remove it.
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/scratch.h"
#include "runtime/formats/file.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <mutex>
#include <set>
#include <vector>

namespace dist::tools {

static const std::string kPrefix = "dist-run-scratch-", kPattern = "XXXXXX";

/// Removes the folders whose owners are gone.
static void sweep(const std::string &parent) {
  std::vector<std::string> paths;
  if (DIR *handle = opendir(parent.c_str())) {
    while (dirent *item = readdir(handle))
      if (std::string name = item->d_name;
          name.compare(0, kPrefix.size(), kPrefix) == 0 &&
          name.size() == kPrefix.size() + kPattern.size())
        paths.push_back(parent + "/" + name);
    closedir(handle);
  }
  for (const std::string &path : paths)
    if (FolderLock lock;
        lock.take(path, FolderLock::Kind::Owner) == FolderLock::Answer::Locked)
      removeAll(path);
}

/// Paths of the folders of this process.
static std::mutex registryMutex;
static std::set<std::string> &registry() {
  static auto *paths = new std::set<std::string>; // outlives all threads
  return *paths;
}

void removeScratchFolders() {
  std::lock_guard<std::mutex> lock(registryMutex);
  for (const std::string &path : registry())
    removeAll(path);
}

Status ScratchFolder::make(const std::string &parent) {
  remove();
  sweep(parent);
  std::string pattern;
  FolderLock::Answer locked;
  do {
    pattern = parent + "/" + kPrefix + kPattern;
    if (!mkdtemp(pattern.data()))
      return Status::error(StatusCode::Unavailable, "cannot make folder",
                           pattern, std::strerror(errno),
                           "set TMPDIR to a folder that "
                           "can be written");
    {
      std::lock_guard<std::mutex> guard(registryMutex);
      registry().insert(pattern);
    }
    locked = lock.take(pattern, FolderLock::Kind::Owner);
    // Between the two another may have begun to sweep it away. Where nothing
    // can be locked nothing is swept.
  } while (locked == FolderLock::Answer::Gone ||
           locked == FolderLock::Answer::Others);
  path = pattern;
  return Status();
}

void ScratchFolder::remove() {
  if (!path.empty()) {
    removeAll(path);
    std::lock_guard<std::mutex> guard(registryMutex);
    registry().erase(path);
  }
  path.clear();
  lock.release();
}

} // namespace dist::tools
