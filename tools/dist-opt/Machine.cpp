//===- Machine.cpp - What this machine's devices can do -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/Machine.h"
#include "passes/Lowering/Lowering.h"
#include "tools/options/machine.h"

using namespace mlir::dist;

::dist::Status Machine::read(const ::dist::tools::Options &options) {
  model.cores = countUsableThreads();
  ::dist::MachineFigures figures;
  if (::dist::Status status =
          ::dist::tools::readMachineFigures(options.machine, &figures);
      !status.ok())
    return options.machine.empty() ? ::dist::Status() : status;
  isMeasured = true;
  model.flopsPerSecond = figures.flopsPerSecond;
  model.bf16FlopsPerSecond = figures.bf16FlopsPerSecond;
  model.convFlopsPerSecond = figures.convFlopsPerSecond;
  model.inputGradFlopsPerSecond = figures.inputGradFlopsPerSecond;
  model.filterGradFlopsPerSecond = figures.filterGradFlopsPerSecond;
  model.memoryBytesPerSecond = figures.memoryBytesPerSecond;
  model.cacheBytesPerSecond = figures.cacheBytesPerSecond;
  model.cacheBytes = figures.cacheBytes;
  model.threadEfficiency = figures.threadEfficiency;
  model.memoryThreadEfficiency = figures.memoryThreadEfficiency;
  model.transferBytesPerSecond = figures.transferBytesPerSecond;
  model.transferLatency = figures.transferLatency;
  model.wakeSeconds = figures.wakeSeconds;
  return ::dist::Status();
}

MachineModel Machine::getModel(int64_t threads) const {
  MachineModel result = model;
  result.threads = threads;
  return result;
}

std::string Machine::describe() const {
  return isMeasured
             ? "by measured figures"
             : "by default figures: dist-run bench --calibrate measures this "
               "machine";
}
