//===- last_steps.h - The steps that a trace shows --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TELEMETRY_LAST_STEPS_H
#define RUNTIME_TELEMETRY_LAST_STEPS_H

#include "runtime/core/session.h"
#include <map>

namespace dist {

/// Of all spans of a run those of each rank's last steps, when everything is
/// warm: a trace is as long, however long the run and however many steps are in
/// one launch.
class LastSteps {
public:
  explicit LastSteps(size_t count = 16) : count(count) {}

  /// What a session has taken since the last time, in any number of steps.
  void add(std::vector<TraceEvent> taken);
  bool empty() const { return events.empty(); }
  /// The spans of the last `count` steps, in the order in which they came.
  const std::vector<TraceEvent> &get();

private:
  /// Forgets what began before a rank's last `count` steps.
  void prune();

  const size_t count;
  std::map<int, std::vector<double>> begins; // of each rank's steps
  std::vector<TraceEvent> events;
};

} // namespace dist

#endif // RUNTIME_TELEMETRY_LAST_STEPS_H
