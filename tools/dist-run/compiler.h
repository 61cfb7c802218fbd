//===- compiler.h - dist-opt as a child process -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_COMPILER_H
#define TOOLS_DIST_RUN_COMPILER_H

#include "runtime/core/status.h"
#include <string>
#include <vector>

namespace dist::tools {

/// How the compiler ended, when it failed: its own words and exit code.
struct CompileFailure {
  int exitCode = 0;
  std::string text; // lines for stderr, already in this tool's name
};

/// A program of the folder that this one is in.
std::string pathBeside(const std::string &program);
/// The words that this process was started with, its name first.
std::vector<std::string> ownCommandLine();

/// dist-opt beside this program, else the one on PATH.
std::string compilerPath();

/// Runs the compiler. When it reports itself, `failure` is filled and the
/// status is an error without text.
Status runCompiler(const std::vector<std::string> &words,
                   CompileFailure *failure);

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_COMPILER_H
