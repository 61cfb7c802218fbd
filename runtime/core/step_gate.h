//===- step_gate.h - Where ranks meet between two steps ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_STEP_GATE_H
#define RUNTIME_CORE_STEP_GATE_H

#include "runtime/core/wait.h"

namespace dist {

/// All ranks decide as one whether they go on, without the host.
class StepGate {
public:
  StepGate(int ranks, int spinMicroseconds)
      : ranks(ranks), spinMicroseconds(spinMicroseconds) {}

  /// Waits for all ranks; the last one asks `decide`. False: no rank goes on.
  template <typename Decide> bool pass(Decide decide) {
    uint64_t round = passed.load();
    if (arrived.fetch_add(1) + 1 == ranks) {
      arrived.store(0);
      if (!decide())
        closed.store(true);
      passed.fetch_add(1);
      point.notify();
    } else {
      point.wait([&] { return passed.load() != round || closed.load(); },
                 WaitPoint::Clock::time_point::max(), spinMicroseconds);
    }
    return !closed.load();
  }
  /// A rank that has failed comes no more.
  void close() {
    closed.store(true);
    point.notify();
  }

private:
  int ranks, spinMicroseconds;
  std::atomic<int> arrived{0};
  std::atomic<uint64_t> passed{0};
  std::atomic<bool> closed{false};
  WaitPoint point;
};

} // namespace dist

#endif // RUNTIME_CORE_STEP_GATE_H
