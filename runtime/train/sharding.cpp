//===- sharding.cpp - What the workers of a training give -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/sharding.h"
#include <algorithm>
#include <sstream>

namespace dist {

/// A pass as the chief tells of it.
static std::string describePass(const BatchPlan &plan) {
  auto [least, most] = std::minmax_element(
      plan.shards.begin(), plan.shards.end(),
      [](const auto &a, const auto &b) { return a.examples < b.examples; });
  int64_t steps = BatchStream::batchesPerPass(0, plan), whole = INT64_MAX;
  for (const DataShard &shard : plan.shards)
    whole = std::min(whole, shard.examples / shard.batch);
  std::string text = "workers have " +
                     (least->examples == most->examples
                          ? std::to_string(least->examples) + " examples each"
                          : std::to_string(least->examples) + " to " +
                                std::to_string(most->examples) + " examples") +
                     "; a pass is " + std::to_string(steps) +
                     (steps == 1 ? " step" : " steps");
  if (whole < steps)
    text += ", the last " + std::to_string(steps - whole) +
            " of fewer examples than --batch-size, as workers come to their "
            "end";
  else if (plan.dropRemainder && least->examples != most->examples)
    text += ", until the first worker has no full part left "
            "(--drop-remainder)";
  return text;
}

Status agreeOnShards(Session &session, int64_t examples, ShardPolicy policy,
                     BatchPlan *plan, std::string *note) {
  if (policy == ShardPolicy::Data)
    return Status();
  std::ostringstream mine;
  mine << examples << ' ' << std::min(plan->firstRow, plan->rows) << ' '
       << std::min(plan->endRow, plan->rows);
  std::vector<std::string> all;
  DIST_RETURN_IF_ERROR(session.exchange(mine.str(), &all));
  std::vector<WorkerFacts> workers;
  for (const std::string &text : all) {
    WorkerFacts &facts = workers.emplace_back();
    std::istringstream(text) >> facts.examples >> facts.firstRow >>
        facts.endRow;
  }
  DIST_RETURN_IF_ERROR(setShards(workers, session.process(), policy, plan));
  // Otherwise the order of one would be that of all.
  if (policy == ShardPolicy::Off && plan->shuffle)
    *plan->shuffle += uint64_t(session.process());
  *note = describePass(*plan);
  return Status();
}

} // namespace dist
