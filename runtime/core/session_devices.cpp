//===- session_devices.cpp - What a session's ranks run on ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/session_devices.h"
#include "runtime/device/devices.h"
#include <algorithm>

namespace dist {

SessionDevices::SessionDevices() : host(hostDevice()), ofRanks(host) {}

Status SessionDevices::load(const manifest::Manifest &of,
                            std::shared_ptr<Device> wanted) {
  manifest = &of;
  if (wanted)
    ofRanks = std::move(wanted);
  // One of each device.
  std::shared_ptr<const Module> hosts, ranks;
  for (int program = 0; program < of.programs_size(); ++program) {
    bool onHost = ofRanks == host || isOfHost(of, program);
    auto &module = onHost ? hosts : ranks;
    if (!module)
      DIST_RETURN_IF_ERROR((onHost ? host : ofRanks)->load(of, &module));
    loaded.push_back(module);
  }
  return Status();
}

std::vector<const Module *> SessionDevices::modules() const {
  std::vector<const Module *> list;
  for (const auto &module : loaded)
    list.push_back(module.get());
  return list;
}

bool SessionDevices::runOnOneTeam() const {
  return std::all_of(loaded.begin(), loaded.end(), [](const auto &module) {
    return module->runsOnOneTeam();
  });
}

Status SessionDevices::equip(
    dist_rt_context &rank,
    const std::vector<std::unique_ptr<EntryPlan>> &plans) const {
  int number = manifest->program_of_rank(rank.rank);
  const manifest::Program &program = manifest->programs(number);
  rank.device = isOfHost(*manifest, number) ? host : ofRanks;
  rank.table = &manifest->kernels();
  int64_t arenaBytes = 0;
  for (const manifest::Entry &entry : program.entries())
    arenaBytes = std::max(arenaBytes, entry.arena_bytes());
  auto allocate = [&](int64_t bytes, const char *what,
                      std::unique_ptr<Memory> *out) {
    return rank.device->allocate(MemorySpace::Device, bytes, what, out);
  };
  DIST_RETURN_IF_ERROR(
      allocate(stateBytes(*manifest, program), "variables", &rank.state));
  DIST_RETURN_IF_ERROR(allocate(arenaBytes, "activations", &rank.arena));
  DIST_RETURN_IF_ERROR(allocate(loaded[number]->layout(number).bytes,
                                "the library's kernels", &rank.library));
  StreamOptions options;
  options.module = loaded[number];
  options.program = number;
  options.library = rank.library->address();
  options.progress = &rank.communicator->progress;
  DIST_RETURN_IF_ERROR(rank.device->createStream(options, &rank.stream));
  if (rank.device->isHost())
    return Status();
  int64_t inputBytes = 0, resultBytes = 0;
  for (const auto &plan : plans) {
    inputBytes = std::max(inputBytes, plan->stagingBytes(rank.rank));
    resultBytes = std::max(resultBytes, plan->resultBytes());
  }
  DIST_RETURN_IF_ERROR(allocate(inputBytes, "inputs", &rank.inputs));
  DIST_RETURN_IF_ERROR(allocate(resultBytes, "results", &rank.outputs));
  return QueuedCollectives::create(rank.device, *rank.stream, options.progress,
                                   &rank.queued);
}

} // namespace dist
