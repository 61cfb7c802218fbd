//===- rank_step.h - A rank's part of a call of an entry --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_RANK_STEP_H
#define RUNTIME_CORE_RANK_STEP_H

#include "runtime/core/entry_plan.h"

namespace dist {

/// A call of a launch.
struct RankStep {
  EntryPlan *plan = nullptr;
  bool prepare = false;
  int64_t base = 0; // of its results
};

/// Runs it on the rank's thread, and waits for what it enqueued. Not 0: it
/// failed, of what the rank's status tells if that is an error.
int32_t runOnRank(dist_rt_context &rank, const RankStep &step,
                  const StepCall &call);

} // namespace dist

#endif // RUNTIME_CORE_RANK_STEP_H
