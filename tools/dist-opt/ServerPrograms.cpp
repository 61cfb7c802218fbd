//===- ServerPrograms.cpp - Programs of workers and parameter servers -----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/Compilation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Lowering/Kernels/PredictKernels.h"
#include "passes/Lowering/Memory/PlannedMemory.h"

using namespace mlir;
using namespace mlir::dist;

LogicalResult Compilation::placeServers() {
  if (strategy.servers == 0)
    return success();
  if (failed(runPipeline([&](OpPassManager &pm) {
        buildPlaceServersPipeline(pm, strategy.servers, options.partitioner);
      })))
    return failure();
  for (int64_t server = 0; server < strategy.servers; ++server) {
    servers.push_back(module->clone());
    if (failed(runPipeline(
            *servers.back(),
            [&](OpPassManager &pm) { buildSplitServersPipeline(pm, server); },
            Verified::AfterEachPass)))
      return failure();
  }
  if (failed(runPipeline(buildPullRowsPipeline)))
    return failure();
  if (!options.check.empty())
    unsplit = module->clone();
  return success();
}

LogicalResult Compilation::leaveWorkers() {
  if (strategy.servers == 0)
    return success();
  return runPipeline(
      [](OpPassManager &pm) { buildSplitServersPipeline(pm, -1); });
}

void Compilation::attachServers() {
  OpBuilder builder(&context);
  builder.setInsertionPointToEnd(module->getBody());
  for (auto [number, server] : llvm::enumerate(servers)) {
    auto copy = cast<ModuleOp>(builder.clone(**server));
    copy.setSymName("server_" + std::to_string(number));
  }
}

void Compilation::addServers(LoweringOptions &lowering,
                             std::vector<ExplainReport> &reports) {
  reports.resize(servers.size());
  const LoweringOptions workers = lowering;
  for (size_t i = 0; i < servers.size(); ++i) {
    ExplainReport &report = reports[i];
    LoweringOptions own = workers;
    report = explain(*servers[i], getMachine());
    for (EntryReport &entry : report.entries)
      entry.server = int64_t(i);
    describeCosts(own, report);
    // Those are of predictions.
    own.metadata.mutable_options()->erase("ops");
    if (options.memoryLimitGiB > 0)
      own.checkPrograms = [this, own, &report](ModuleOp programs) {
        return failure(failed(addPlannedMemory(programs, own, report)) ||
                       failed(checkMemory(report)));
      };
    lowering.servers.push_back({*servers[i], std::move(own)});
  }
}

LogicalResult Compilation::explainServers(ExplainReport &report, bool details) {
  if (strategy.servers == 0)
    return success();
  report.workers = options.workers;
  for (auto [number, server] : llvm::enumerate(servers)) {
    ExplainReport own = explain(*server, getMachine(), details);
    if (failed(predictByKernels(*server, {}, loweringOptions(), getMachine(),
                                own, details)))
      return failure();
    for (EntryReport &entry : own.entries) {
      entry.server = number;
      entry.name += " on server " + std::to_string(number);
      report.entries.push_back(std::move(entry));
    }
  }
  return success();
}
