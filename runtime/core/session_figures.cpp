//===- session_figures.cpp - What a session tells of its ranks ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/session_figures.h"
#include "runtime/core/package.h"
#include <algorithm>

namespace dist {

static std::vector<const dist_rt_context *>
findDevices(const manifest::Manifest &manifest, const RankContexts &ranks,
            const std::vector<int> &local) {
  std::vector<const dist_rt_context *> devices;
  for (int rank : local)
    if (!isOfHost(manifest, manifest.program_of_rank(rank)))
      devices.push_back(ranks[rank].get());
  return devices;
}

int64_t largestDevice(const manifest::Manifest &manifest,
                      const RankContexts &ranks,
                      const std::vector<int> &local) {
  int64_t largest = 0;
  for (const dist_rt_context *rank : findDevices(manifest, ranks, local))
    largest =
        std::max(largest, rank->state->size() +
                              rank->arenas[DIST_RT_DEVICE_MEMORY]->size() +
                              rank->library->size() + planBytes(*rank));
  return largest;
}

double exposedSeconds(const manifest::Manifest &manifest,
                      const RankContexts &ranks,
                      const std::vector<int> &local) {
  auto devices = findDevices(manifest, ranks, local);
  int64_t nanoseconds = 0;
  for (const dist_rt_context *rank : devices)
    nanoseconds += rank->communicator->progress.waitTime();
  return devices.empty() ? 0
                         : double(nanoseconds) / 1e9 / double(devices.size());
}

std::vector<TraceEvent> takeEvents(const RankContexts &ranks,
                                   const std::vector<int> &local) {
  std::vector<TraceEvent> events;
  for (int rank : local)
    takeSpans(*ranks[rank], &events);
  return events;
}

} // namespace dist
