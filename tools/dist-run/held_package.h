//===- held_package.h - A package for as long as a run --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run reads its package at the start and, hours later, again: what it writes
// a trained model from lies there, and so does what a process that is started
// again loads. Who cleans up meanwhile must not take the training with it.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_HELD_PACKAGE_H
#define TOOLS_DIST_RUN_HELD_PACKAGE_H

#include "runtime/formats/file.h"
#include "tools/dist-run/scratch.h"
#include <memory>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace dist::tools {

class HeldPackage {
public:
  /// Opens all files of the package, which stay there for this process though
  /// their names go.
  Status hold(const std::string &folder);
  /// Where the package is: the folder, or a copy as it was, where something of
  /// the folder was removed or replaced.
  Status place(std::string *out);

private:
  struct File {
    std::string name; // in the folder
    std::shared_ptr<const FileBytes> bytes;
    dev_t device = 0;
    ino_t number = 0;
  };
  bool isWhole() const;

  std::string folder;
  std::vector<File> files;
  std::unique_ptr<ScratchFolder> copy;
};

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_HELD_PACKAGE_H
