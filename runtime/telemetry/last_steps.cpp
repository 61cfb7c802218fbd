//===- last_steps.cpp - The steps that a trace shows -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/telemetry/last_steps.h"
#include <algorithm>
#include <iterator>

namespace dist {

void LastSteps::add(std::vector<TraceEvent> taken) {
  bool isLong = false;
  for (const TraceEvent &event : taken)
    if (event.category == "step") {
      std::vector<double> &of = begins[event.rank];
      of.push_back(event.begin);
      isLong |= of.size() >= 2 * count;
    }
  events.insert(events.end(), std::make_move_iterator(taken.begin()),
                std::make_move_iterator(taken.end()));
  // Now and then: each pass looks at all that is kept.
  if (isLong)
    prune();
}

const std::vector<TraceEvent> &LastSteps::get() {
  prune();
  return events;
}

void LastSteps::prune() {
  std::map<int, double> first; // step that is kept
  for (auto &[rank, of] : begins) {
    if (of.size() <= count)
      continue;
    of.erase(of.begin(), of.end() - std::ptrdiff_t(count));
    first[rank] = of.front();
  }
  // By their times: collectives beside the others come after all steps.
  events.erase(std::remove_if(events.begin(), events.end(),
                              [&](const TraceEvent &event) {
                                auto at = first.find(event.rank);
                                return at != first.end() &&
                                       event.begin < at->second;
                              }),
               events.end());
}

} // namespace dist
