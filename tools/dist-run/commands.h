//===- commands.h - What dist-run can do -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_COMMANDS_H
#define TOOLS_DIST_RUN_COMMANDS_H

#include "tools/options/options.h"

namespace dist::tools {

/// Exit codes of a process of a cluster that was stopped: with its state saved;
/// without, because another one was told to.
constexpr int kResumableExit = 42, kStoppedExit = 3;

/// The one that the options name.
int runCommand(const Options &options);

/// Each reports its errors and gives the exit code.
int runFit(const Options &options);
int runEvaluate(const Options &options);
int runPredict(const Options &options);
int runCases(const Options &options);
int runReplay(const Options &options);
int runBench(const Options &options);
int runCalibrate(const Options &options);
int runCollectives(const Options &options);
int runInfo(const Options &options);
int runStatus(const Options &options);
/// Returns only when it cannot serve: a signal ends it.
int runCoordinator(const Options &options);

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_COMMANDS_H
