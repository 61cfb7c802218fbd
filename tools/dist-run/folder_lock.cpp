//===- folder_lock.cpp - Who has a use for a folder -----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/folder_lock.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dist::tools {

FolderLock::Answer FolderLock::take(const std::string &path, Kind kind) {
  release();
  const bool isAlone = kind == Kind::Owner;
  // The compiler inherits its owner's, whose folder it writes to.
  file = open(path.c_str(),
              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | (isAlone ? 0 : O_CLOEXEC));
  if (file < 0)
    return Answer::Gone;
  Answer answer = Answer::Locked;
  struct stat locked, named;
  if (flock(file, (isAlone ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0)
    answer = errno == EWOULDBLOCK ? Answer::Others : Answer::NoLocks;
  // Who had the lock before may have removed the folder, or put another in its
  // place.
  else if (fstat(file, &locked) != 0 || lstat(path.c_str(), &named) != 0 ||
           named.st_dev != locked.st_dev || named.st_ino != locked.st_ino)
    answer = Answer::Gone;
  // Also what is just made, where the file system gives it to another.
  else if (locked.st_uid != geteuid())
    answer = Answer::Foreign;
  if (answer != Answer::Locked)
    release();
  return answer;
}

void FolderLock::release() {
  if (file >= 0)
    close(file);
  file = -1;
}

} // namespace dist::tools
