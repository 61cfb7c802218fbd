//===- named_lock.cpp - A lock that says who has it -----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/named_lock.h"
#include "runtime/formats/file_system.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace dist {

static constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;

/// Whether the name is still that of the file that we hold: who had it before
/// may have removed it.
bool NamedLock::isNamed() const {
  struct stat held, named;
  return fileSystem().status(file, &held) == 0 &&
         fileSystem().status(path, &named, /*followsLinks=*/false) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

void NamedLock::close() {
  fileSystem().close(file);
  file = -1;
}

NamedLock::~NamedLock() {
  if (file < 0)
    return;
  // While it is held: who comes now makes another.
  if (isNamed())
    fileSystem().remove(path);
  close();
}

static std::string ownName() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  return "process " + std::to_string(fileSystem().process()) + " on " + host;
}

Status NamedLock::take(const std::string &name, std::string *owner,
                       std::string *note) {
  FileSystem &files = fileSystem();
  path = name;
  owner->clear();
  for (;;) {
    file = files.open(path, kFlags, 0666);
    if (file < 0)
      return Status::error(StatusCode::Unavailable, "cannot make a lock", path,
                           std::strerror(errno),
                           "check the folder, its permissions and free space");
    if (files.lock(file) == 0) {
      if (isNamed())
        break;
    } else if (errno == EWOULDBLOCK) {
      char text[512];
      const ssize_t size = files.readAt(file, text, sizeof text, 0);
      // It may be about to write it.
      *owner = size > 0 ? std::string(text, size) : "another process";
      close();
      return Status();
    } else if (errno != EINTR) {
      *note = "the file system has no locks (" +
              std::string(std::strerror(errno)) + ")";
      close();
      return Status();
    }
    close();
  }
  // Of whom had it before, and was killed.
  const std::string mine = ownName();
  if (ftruncate(file, 0) != 0 ||
      files.write(file, mine.data(), mine.size()) < 0)
    *note = "who has the lock " + path + " cannot be written there (" +
            std::strerror(errno) + ")";
  return Status();
}

} // namespace dist
