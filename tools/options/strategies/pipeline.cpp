//===- pipeline.cpp - The model in stages ---------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/strategies/row.h"

namespace dist::tools {

static std::vector<Proposal> propose(const PlanSpace &space) {
  // A pipeline is of a step; a prediction has nothing to overlap.
  if (space.options.losses.empty())
    return {};
  std::vector<Proposal> ways;
  // More microbatches wait less, and send more often.
  for (int64_t times : {1, 2, 4})
    // Smaller than an example they cannot be.
    if (times == 1 ||
        (space.isAlone() && space.data * times * space.stage <= space.batch))
      ways.push_back(
          {{"pipeline",
            {{"microbatches", std::to_string(times * space.stage)}}}});
  return ways;
}

const StrategyRow &pipelineStrategy() {
  static const StrategyRow row = {
      "pipeline",
      "the model in stages, each on devices of its own, that pass "
      "microbatches "
      "on",
      "the variables fill a device, and links are too slow for tensor-split",
      "the activations at the cuts, twice a step; stages wait at its start "
      "and "
      "end: (stages-1)/(microbatches+stages-1) of it",
      "as many ops with parameters as stages (with chunks: as chunks of all); "
      "batch norm is per microbatch "
      "unless --sync-batch-norm",
      "tf.distribute: none; PyTorch torch.distributed.pipelining; JAX: by "
      "hand, with shard_map",
      "stage",
      {{"stages", "stages of the pipeline (default: the devices)", {}},
       {"microbatches", "parts of a replica's batch (default: the stages)", {}},
       {"chunks", "chunks of the model a stage has, for interleaved", {}},
       {"schedule",
        "the order of the stages' work (default: 1f1b, with chunks "
        "interleaved)",
        {"gpipe", "1f1b", "interleaved"}}},
      false,
      {{"pipeline with zero:stage=3",
        [](const Options &o) {
          return uses(o, "pipeline") && hasStage(o, "3");
        },
        "each microbatch would gather the variables again",
        "write zero:stage=1 or 2"},
       {"--compress with pipeline",
        [](const Options &o) {
          return !o.compress.empty() && uses(o, "pipeline");
        },
        "what is left of a gradient is kept whole on each rank",
        "use mirrored, or zero:stage=1 or 2"},
       {"--batch-sizes with pipeline",
        [](const Options &o) {
          return !o.batchSizes.empty() && uses(o, "pipeline");
        },
        "it cuts one batch in parts of its own", "give --batch-size alone"},
       {"--device-weights with pipeline",
        [](const Options &o) {
          return !o.deviceWeights.empty() && uses(o, "pipeline");
        },
        "their programs and predictions are those of equal devices",
        "use mirrored or zero"}},
      propose};
  return row;
}

} // namespace dist::tools
