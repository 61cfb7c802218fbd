//===- scratch.cpp - A folder that goes away with its owner -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An owner holds a lock of its folder, which the kernel drops when the process
// is gone, however it went: who gets the lock of another's folder may remove
// it.
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/scratch.h"
#include "runtime/formats/file.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace dist::tools {

static const std::string kPrefix = "dist-run-scratch-", kPattern = "XXXXXX";

/// The lock of the folder, or -1: another has it, or the folder is gone. The
/// compiler inherits it, which writes there, too.
static int lockFolder(const std::string &path, int how) {
  int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (fd < 0)
    return -1;
  struct stat locked, named;
  // The process that had the lock before may have removed the folder.
  if (flock(fd, how) == 0 && fstat(fd, &locked) == 0 &&
      locked.st_uid == geteuid() && lstat(path.c_str(), &named) == 0 &&
      named.st_dev == locked.st_dev && named.st_ino == locked.st_ino)
    return fd;
  close(fd);
  return -1;
}

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
    if (int fd = lockFolder(path, LOCK_EX | LOCK_NB); fd >= 0) {
      removeAll(path);
      close(fd);
    }
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
    lock = lockFolder(pattern, LOCK_EX);
    // Between the two another may have swept it away. Where nothing can be
    // locked nothing is swept.
  } while (lock < 0 && access(pattern.c_str(), F_OK) != 0);
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
  if (lock >= 0)
    close(lock);
  lock = -1;
}

} // namespace dist::tools
