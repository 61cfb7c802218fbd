//===- piped_files.h - Files that come through pipes ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_OPTIONS_PIPED_FILES_H
#define TOOLS_OPTIONS_PIPED_FILES_H

#include "runtime/core/status.h"
#include <string>
#include <vector>

namespace dist::tools {

/// A shell gives `<(COMMAND)` as /dev/fd/N, a pipe, which can be read once;
/// what an option names is read by the compiler, too, and by each worker that
/// is started. So the pipes that the words name are read here, to their ends,
/// and files in memory take their numbers, for this process and those that it
/// starts. Before options are read. Errors: of reading, or memory.
Status keepPipedFiles(const std::vector<std::string> &words);

/// Whether the words name the standard input (/dev/stdin), which processes that
/// this one starts have to have then.
bool namesStandardInput();

} // namespace dist::tools

#endif // TOOLS_OPTIONS_PIPED_FILES_H
