//===- row.h - What a strategy says of itself -----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each strategy is a file here: its name and words, its keys, what it refuses
// to be combined with, and what `auto` tries of it. A new one is such a file, a
// line in strategyTable(), and its annotations in passes/Pipelines/Tactics.cpp
// (these tools are linked without MLIR).
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_OPTIONS_STRATEGIES_ROW_H
#define TOOLS_OPTIONS_STRATEGIES_ROW_H

#include "tools/options/strategies.h"

namespace dist::tools {

const StrategyRow &oneDeviceStrategy();
const StrategyRow &mirroredStrategy();
const StrategyRow &multiWorkerMirroredStrategy();
const StrategyRow &centralStorageStrategy();
const StrategyRow &parameterServerStrategy();
const StrategyRow &tensorSplitStrategy();
const StrategyRow &zeroStrategy();
const StrategyRow &pipelineStrategy();
const StrategyRow &autoStrategy();

/// Combinations of options that no strategy by itself refuses.
const std::vector<RefusedRow> &generalRefusals();

/// Whether the strategy is given.
bool uses(const Options &options, const char *strategy);

/// Whether zero is given with that stage.
bool hasStage(const Options &options, const char *number);

} // namespace dist::tools

#endif // TOOLS_OPTIONS_STRATEGIES_ROW_H
