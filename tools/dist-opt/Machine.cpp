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
  auto read = std::make_shared<TransferTimes>();
  if (::dist::Status status =
          TransferTimes::read(options.collectivesTable, options.linkTable,
                              std::max(1, options.hosts), *read);
      !status.ok())
    return status;
  if (!read->isEmpty())
    model.transfers = std::move(read);
  if (const ::dist::LinkTable *links = findLinks(); links && links->cores() > 0)
    model.cores = links->cores();
  ::dist::MachineFigures figures;
  setLinks(figures);
  if (::dist::Status status =
          ::dist::tools::readMachineFigures(options.machine, &figures);
      !status.ok())
    return options.machine.empty() ? ::dist::Status() : status;
  isMeasured = true;
  setLinks(figures);
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
  model.wakeSeconds = figures.wakeSeconds;
  return ::dist::Status();
}

void Machine::setLinks(const ::dist::MachineFigures &figures) {
  if (figures.transferBytesPerSecond > 0)
    memory = {figures.transferBytesPerSecond, figures.transferLatency};
  process = {figures.processBytesPerSecond, figures.processLatency};
  network = {figures.networkBytesPerSecond, figures.networkLatency};
}

/// Of two ranks that are so many apart.
static Link getLink(const ::dist::LinkTable &links, int64_t apart) {
  const ::dist::LinkLevel &level = links.levels()[links.levelBetween(0, apart)];
  return {level.bytesPerSecond, level.latency};
}

MachineModel Machine::getModel(int64_t threads, int64_t devices,
                               int64_t workers, int64_t hosts) const {
  MachineModel result = model;
  result.threads = threads;
  result.hosts = hosts;
  // A rank of several processes has one communicator for all its groups: it
  // sends messages to those of its own process, too (see rt-read-peers).
  result.link = workers > 1 ? process : memory;
  result.processLink = hosts > 1 ? network : process;
  if (const ::dist::LinkTable *links = findLinks()) {
    result.link = getLink(*links, devices - 1);
    result.processLink = getLink(*links, devices * workers - 1);
  }
  return result;
}

std::string Machine::describe() const {
  return isMeasured
             ? "by measured figures"
             : "by default figures: dist-run bench --calibrate measures this "
               "machine";
}
