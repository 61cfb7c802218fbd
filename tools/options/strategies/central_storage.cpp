//===- central_storage.cpp - One copy of the variables, on the host -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/strategies/row.h"

namespace dist::tools {

static std::vector<Proposal> propose(const PlanSpace &space) {
  // Composed with nothing.
  if (!space.isAlone() || space.workers > 1)
    return {};
  return {{{"central-storage", {}}}};
}

const StrategyRow &centralStorageStrategy() {
  static const StrategyRow row = {
      "central-storage",
      "one copy of the variables, on the host; devices copy what they read "
      "once a step, the host reduces gradients and updates",
      "the variables with their optimizer slots do not fit a device, or the "
      "update must happen at one place",
      "n x the variables' bytes from the host and n x the gradients' to it a "
      "step, and devices wait while it updates",
      "batch norm is per replica unless --sync-batch-norm; variables are not "
      "split",
      "tf.distribute CentralStorageStrategy; PyTorch and JAX: none",
      "data",
      {},
      false,
      {{"central-storage with another strategy",
        [](const Options &o) {
          return uses(o, "central-storage") && o.strategies.size() > 1;
        },
        "the host has the one copy of each variable, whole",
        "leave one of them out"},
       {"--compress with central-storage",
        [](const Options &o) {
          return !o.compress.empty() && uses(o, "central-storage");
        },
        "only sums that devices make among themselves are compressed, and the "
        "host makes them there",
        "use mirrored, or zero:stage=1 or 2"},
       {"--device-weights with central-storage",
        [](const Options &o) {
          return !o.deviceWeights.empty() && uses(o, "central-storage");
        },
        "their programs and predictions are those of equal devices",
        "use mirrored or zero"}},
      propose};
  return row;
}

} // namespace dist::tools
