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

MachineModel mlir::dist::readMachine(const ::dist::tools::Options &options,
                                     int64_t threads) {
  MachineModel model;
  model.threads = threads;
  model.cores = countUsableThreads();
  ::dist::MachineFigures figures;
  if (!::dist::tools::readMachineFigures(options.machine, &figures).ok())
    return model;
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
  return model;
}

std::string mlir::dist::describeMachine(const ::dist::tools::Options &options) {
  ::dist::MachineFigures figures;
  return ::dist::tools::readMachineFigures(options.machine, &figures).ok()
             ? "by measured figures"
             : "by default figures: dist-run bench --calibrate measures this "
               "machine";
}
