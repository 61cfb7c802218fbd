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
    Device &device = onHost ? *host : *ofRanks;
    if (of.programs(program).device() != device.kind())
      return Status::error(
          StatusCode::InvalidInput, "the package is for other devices",
          "program " + std::to_string(program),
          "it is for a device of kind '" + of.programs(program).device() +
              "', and is to run on " + device.name(),
          "compile the model for " + std::string(device.kind()));
    auto &module = onHost ? hosts : ranks;
    if (!module)
      DIST_RETURN_IF_ERROR(device.load(of, &module));
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

/// What any of its entries wants there.
static int64_t largestArena(const manifest::Program &program,
                            MemorySpace space) {
  int64_t bytes = 0;
  for (const manifest::Entry &entry : program.entries())
    bytes =
        std::max(bytes, space == MemorySpace::Host ? entry.host_arena_bytes()
                                                   : entry.arena_bytes());
  return bytes;
}

Status SessionDevices::equip(
    dist_rt_context &rank,
    const std::vector<std::unique_ptr<EntryPlan>> &plans) const {
  int number = manifest->program_of_rank(rank.rank);
  const manifest::Program &program = manifest->programs(number);
  rank.device = isOfHost(*manifest, number) ? host : ofRanks;
  rank.table = &manifest->kernels();
  auto allocate = [&](int64_t bytes, const char *what,
                      std::unique_ptr<Memory> *out) {
    return rank.device->allocate(MemorySpace::Device, bytes, what, out);
  };
  DIST_RETURN_IF_ERROR(
      allocate(stateBytes(*manifest, program), "variables", &rank.state));
  for (MemorySpace space : {MemorySpace::Device, MemorySpace::Host})
    DIST_RETURN_IF_ERROR(
        rank.device->allocate(space, largestArena(program, space),
                              "activations", &rank.arenas[int(space)]));
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
  rank.queued = std::make_unique<QueuedCollectives>(rank.device, *rank.stream,
                                                    options.progress);
  return Status();
}

} // namespace dist
