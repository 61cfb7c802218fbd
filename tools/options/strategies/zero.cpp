//===- zero.cpp - Mirrored, with the state in shards ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/strategies/row.h"
#include <algorithm>

namespace dist::tools {

std::string getZeroStage(const Strategy &strategy) {
  if (strategy.name != "zero")
    return "";
  auto stage = strategy.keys.find("stage");
  return stage == strategy.keys.end() ? "1" : stage->second;
}

bool hasStage(const Options &options, const char *number) {
  return std::any_of(
      options.strategies.begin(), options.strategies.end(),
      [&](const Strategy &one) { return getZeroStage(one) == number; });
}

static std::vector<Proposal> propose(const PlanSpace &space) {
  std::vector<Proposal> ways = {{{"zero", {{"stage", "1"}}}}};
  // What stage 2 adds to stage 1 shows with accumulation.
  if (space.isAlone() || space.options.accumulate > 1)
    ways.push_back({{"zero", {{"stage", "2"}}}});
  // A pipeline would gather the shards for each microbatch.
  if (space.stage == 1)
    ways.push_back({{"zero", {{"stage", "3"}}}});
  return ways;
}

const StrategyRow &zeroStrategy() {
  static const StrategyRow row = {
      "zero",
      "mirrored, with optimizer slots (stage=1), gradients (2), variables (3) "
      "in shards",
      "slots or variables fill the devices' memory",
      "stages 1 and 2 as mirrored, but stage 2 of a pipeline scatters each "
      "microbatch's gradients; stage 3 half as much again",
      "variables without a dim that divides are padded; whole where half "
      "would be padding, where tensor-split has split the dim to pad, and "
      "with --strict-divisibility; shards are of the axis data alone (with "
      "host=N before it each host has all)",
      "tf.distribute: none; PyTorch ZeroRedundancyOptimizer (stage=1), FSDP "
      "SHARD_GRAD_OP (2), FULL_SHARD (3); JAX: parameters sharded over the "
      "data axis",
      "data",
      {{"stage", "what is kept in shards", {"1", "2", "3"}}},
      true,
      {{"zero before tensor-split",
        [](const Options &o) {
          auto find = [&](const char *name) {
            return std::find_if(
                o.strategies.begin(), o.strategies.end(),
                [&](const Strategy &one) { return one.name == name; });
          };
          return uses(o, "tensor-split") && find("zero") < find("tensor-split");
        },
        "zero shards what the others have left whole",
        "write tensor-split,zero:stage=N"},
       {"--compress int8, topk or powersgd with zero",
        [](const Options &o) {
          return uses(o, "zero") && !o.compress.empty() &&
                 o.compress != "f16" && o.compress != "bf16";
        },
        "they gather, where zero scatters", "use bf16 or f16"},
       {"--compress with --accumulate and zero:stage=2",
        [](const Options &o) {
          return !o.compress.empty() && o.accumulate > 1 && hasStage(o, "2");
        },
        "every batch's gradients would be scattered, uncompressed",
        "use zero:stage=1"},
       {"--compress with zero:stage=3",
        [](const Options &o) {
          return !o.compress.empty() && hasStage(o, "3");
        },
        "what is left of a gradient is kept whole on each rank",
        "use mirrored, or zero:stage=1 or 2"}},
      propose};
  return row;
}

} // namespace dist::tools
