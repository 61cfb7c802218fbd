//===- CheckOptions.cpp - Options whose grammar the passes know -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/CheckOptions.h"
#include "passes/Graph/TrainingTables.h"
#include "passes/Partition/Compression.h"
#include "passes/Strategy/Partitioner.h"
#include "passes/Strategy/SplitRule.h"
#include "tools/dist-opt/Diagnostics.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;
using ::dist::tools::Options;

LogicalResult mlir::dist::checkOptions(const Options &options) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  ErrorPrinter printer(&context);
  auto fail = [&] { return emitError(UnknownLoc::get(&context)); };
  auto check = [&](StringRef text, ArrayRef<TrainingChoice> choices,
                   StringRef option) {
    return TrainingSpec::parse(text, choices, option, fail);
  };
  for (const std::string &loss : options.losses)
    if (failed(check(splitOutput(loss).second, listLosses(), "--loss")))
      return failure();
  if (failed(check(options.optimizer, listOptimizers(), "--optimizer")) ||
      failed(check(options.lrSchedule, listSchedules(), "--lr-schedule")))
    return failure();
  for (const std::string &metric : options.metrics)
    if (failed(check(splitOutput(metric).second, listMetrics(), "--metrics")))
      return failure();
  for (const std::string &rule : options.split)
    if (failed(SplitRule::parse(rule, fail)))
      return failure();
  if (failed(Partitioner::parse(options.partitioner, options.servers, fail)))
    return failure();
  if (!options.compress.empty() &&
      failed(CompressionSpec::parse(options.compress, fail)))
    return failure();
  return success();
}
