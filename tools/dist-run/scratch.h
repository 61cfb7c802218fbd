//===- scratch.h - A folder that goes away with its owner -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_SCRATCH_H
#define TOOLS_DIST_RUN_SCRATCH_H

#include "runtime/core/status.h"
#include "tools/dist-run/folder_lock.h"
#include <string>
#include <utility>

namespace dist::tools {

/// A folder of this process. It is removed with the object; what a process that
/// was killed has left, the next one that makes a folder beside it removes.
class ScratchFolder {
public:
  ScratchFolder() = default;
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;
  ~ScratchFolder() { remove(); }

  /// Makes a new one in `parent`.
  Status make(const std::string &parent);
  void remove();
  void swap(ScratchFolder &other) noexcept {
    std::swap(path, other.path);
    std::swap(lock, other.lock);
  }
  const std::string &getPath() const { return path; }

private:
  std::string path; // empty: none
  FolderLock lock;
};

/// Removes those of this process: it is about to end without its destructors.
void removeScratchFolders();

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_SCRATCH_H
