//===- folder_lock.h - Who has a use for a folder ---------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel drops a lock when the process that has it is gone, however it
// went.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_FOLDER_LOCK_H
#define TOOLS_DIST_RUN_FOLDER_LOCK_H

#include <string>
#include <utility>

namespace dist::tools {

/// Of one folder, whatever name it gets. Two of one process exclude each other
/// as those of two do.
class FolderLock {
public:
  enum class Kind {
    Use,  // beside others of this kind
    Owner // alone; child processes have it, too, until they end
  };
  enum class Answer {
    Locked,
    Others,  // have it in a way that excludes this one
    Foreign, // it is another user's, none to take
    Gone,    // there is no such folder, or no more
    NoLocks  // the file system has none
  };
  /// Whether it is others' to use, or to remove.
  static bool isOthers(Answer answer) {
    return answer == Answer::Others || answer == Answer::Foreign;
  }

  FolderLock() = default;
  FolderLock(FolderLock &&other) noexcept
      : file(std::exchange(other.file, -1)) {}
  FolderLock &operator=(FolderLock &&other) noexcept {
    std::swap(file, other.file);
    return *this;
  }
  ~FolderLock() { release(); }

  /// Does not wait. What this object had is released first.
  Answer take(const std::string &path, Kind kind);
  void release();

private:
  int file = -1;
};

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_FOLDER_LOCK_H
