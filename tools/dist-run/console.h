//===- console.h - Results, progress, errors -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_CONSOLE_H
#define TOOLS_DIST_RUN_CONSOLE_H

#include "runtime/core/status.h"
#include <string>

namespace dist::tools {

/// Prints an error as one line on stderr and gives the exit code.
int report(const Status &status);
/// A result of a run, on stdout.
Status printResult(const std::string &text);
/// All that a command was called for, on stdout; its exit code. When the reader
/// has closed the pipe, no error is told, and main ends the process by SIGPIPE.
int printReport(const std::string &text);
constexpr int kReaderLeft = 141; // 128 + SIGPIPE, as shells show it
/// A line of progress, on stderr.
void printNote(const std::string &line);
/// Redraws the bar; on a terminal only.
void drawBar(const std::string &line);
bool hasTerminal();
int terminalColumns();

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_CONSOLE_H
