//===- commands.cpp - What dist-run can do --------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/commands.h"

namespace dist::tools {

int runCommand(const Options &options) {
  if (options.command == "fit")
    return runFit(options);
  if (options.command == "evaluate")
    return runEvaluate(options);
  if (options.command == "predict" && !options.replay.empty())
    return runReplay(options);
  if (options.command == "predict")
    return options.cases.empty() ? runPredict(options) : runCases(options);
  if (options.command == "bench" && options.collectives)
    return runCollectives(options);
  if (options.command == "bench")
    return options.calibrate ? runCalibrate(options) : runBench(options);
  if (options.command == "status")
    return runStatus(options);
  if (options.command == "coordinator")
    return runCoordinator(options);
  return runInfo(options);
}

} // namespace dist::tools
