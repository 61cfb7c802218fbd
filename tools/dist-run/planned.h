//===- planned.h - Processes that auto has chosen ---------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_PLANNED_H
#define TOOLS_DIST_RUN_PLANNED_H

#include "tools/options/options.h"

namespace dist::tools {

/// What the compiler is told of a program whose processes this command starts:
/// each takes its part of the CPUs (see ClusterRun::find).
std::vector<std::string> workerArguments(const Options &options,
                                         int64_t defaultBatch);

/// Whether the strategy, and with it whether there are --workers at all, is
/// still to be chosen by the compiler.
bool isToBePlanned(const Options &options);

/// Lets the compiler choose, and becomes the same command with its choice in
/// the place of `auto`: what a run does with its processes follows from the
/// strategy by name. Returns only where that fails: the exit code.
int runPlanned(const Options &options, int64_t defaultBatch);

/// The command with a plan's lines (formatPlan) in the place of the options
/// that they are of.
std::vector<std::string> withPlan(const std::vector<std::string> &command,
                                  const std::string &plan);

/// Keeps what `auto` has chosen of the package in --save-plan's file.
Status savePlan(const Options &options, const std::string &package);

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_PLANNED_H
