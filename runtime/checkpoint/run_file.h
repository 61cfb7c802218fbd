//===- run_file.h - Whose a folder of states is -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `run.json` of a folder of states, which the run that saves there writes.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CHECKPOINT_RUN_FILE_H
#define RUNTIME_CHECKPOINT_RUN_FILE_H

#include "runtime/core/status.h"
#include <cstdint>
#include <string>

namespace dist {

struct RunFile {
  std::string run, model, host;
  /// How often the folder was taken up, and the process that did so last.
  int64_t epoch = 0, pid = 0;
  /// It has come to its end: it is not expected to save any more. One that was
  /// stopped or killed has not.
  bool ended = false;
};

/// An empty run where the file is missing or malformed.
RunFile readRunFile(const std::string &folder);
/// Through the disk's cache.
Status writeRunFile(const std::string &folder, const RunFile &file);

} // namespace dist

#endif // RUNTIME_CHECKPOINT_RUN_FILE_H
