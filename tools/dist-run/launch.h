//===- launch.h - Workers of this machine -----------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_LAUNCH_H
#define TOOLS_DIST_RUN_LAUNCH_H

#include "tools/options/options.h"

namespace dist::tools {

/// Whether this process was started by `launchWorkers`, and the package that
/// all of them run; empty: not.
std::string launchedPackage();
/// Names it to them.
inline constexpr char kPackageVariable[] = "DIST_RUN_PACKAGE";

/// The workers are others now: that package is none for them.
void forgetLaunchedPackage();

/// One of them: the cluster is that of its TF_CONFIG, whatever --workers says.
void takeLaunched(Options *options);

/// Whether the command starts its own workers: --workers was given, and this is
/// none of them.
bool launchesWorkers(const Options &options);

/// Makes the program, starts --workers processes of this command and waits for
/// them; the exit code. They end together: when one fails, when this process is
/// told to, and when it ends in any other way.
int launchWorkers(const Options &options, int64_t defaultBatch);
/// The same of workers that need no program.
int launchPlainWorkers(const Options &options);

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_LAUNCH_H
