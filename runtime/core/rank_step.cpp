//===- rank_step.cpp - A rank's part of a call of an entry ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/rank_step.h"

namespace dist {

/// Behind the program.
static Status finishStep(dist_rt_context &rank, const RankStep &step,
                         const StepCall &call) {
  DIST_RETURN_IF_ERROR(step.plan->fetchResults(rank, call.outputs, step.base));
  DIST_RETURN_IF_ERROR(rank.finish());
  return step.plan->reduceResults(rank, call.outputs, step.base);
}

/// The program's functions.
static int32_t runFunctions(dist_rt_context &rank, const RankStep &step) {
  PlannedEntry &planned = rank.planned[step.plan->number()];
  if (step.plan->hasMeetings())
    rank.communicator->beginStep();
  std::array<char *, DIST_RT_MEMORIES> arenas;
  for (size_t space = 0; space < arenas.size(); ++space)
    arenas[space] = rank.arenas[space]->address();
  auto call = [&](dist_program_entry_fn function,
                  std::vector<PlannedCollective> &collectives) {
    rank.collectives = &collectives;
    return function(&rank, arenas.data(), rank.bindings.data());
  };
  rank.calls = -1;
  if (dist_program_entry_fn prepare = step.plan->prepare(rank.rank);
      prepare && step.prepare)
    if (int32_t code = call(prepare, planned.preparation))
      return code;
  rank.calls = 0;
  return call(step.plan->step(rank.rank), planned.step);
}

int32_t runOnRank(dist_rt_context &rank, const RankStep &step,
                  const StepCall &call) {
  rank.entry = &step.plan->entry(rank.rank);
  rank.status = step.plan->bind(rank, *call.inputs, call.outputs, step.base);
  int32_t code = rank.status.ok() ? 0 : 1;
  size_t mark = rank.spans.size();
  if (rank.trace) {
    auto now = std::chrono::steady_clock::now();
    rank.spans.push_back({"step", nullptr, -1, -1, rank.entry, now, {}});
  }
  if (code == 0 && rank.cancelled->load()) {
    rank.status = cancelledStatus(rank);
    code = 1;
  }
  if (code == 0)
    code = runFunctions(rank, step);
  if (code == 0) {
    rank.status = finishStep(rank, step, call);
    code = rank.status.ok() ? 0 : 1;
  }
  if (rank.trace)
    rank.spans[mark].end = std::chrono::steady_clock::now();
  return code;
}

} // namespace dist
