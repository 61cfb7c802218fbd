//===- auto.cpp - The fastest of all --------------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/strategies/row.h"

namespace dist::tools {

const StrategyRow &autoStrategy() {
  static const StrategyRow row = {
      "auto",
      "the fastest of all these, by the predicted step, of those that fit "
      "--memory-limit",
      "you do not know; what it weighed is printed, and it may well answer "
      "one-device",
      "a compilation to the program of one rank for each candidate",
      "predictions are as good as bench --calibrate made them",
      "none of them; PyTorch autoparallel and Alpa are near it",
      "",
      {},
      false,
      {{"auto with another strategy or a mesh",
        [](const Options &o) {
          return uses(o, "auto") &&
                 (o.strategies.size() > 1 || !o.mesh.empty());
        },
        "auto chooses them", "leave them out"},
       {"--save-plan without auto",
        [](const Options &o) {
          return !o.savePlan.empty() && !uses(o, "auto");
        },
        "the plan is what auto has chosen", "add --strategy auto"},
       {"--compress with auto",
        [](const Options &o) { return !o.compress.empty() && uses(o, "auto"); },
        "auto weighs strategies without it",
        "use mirrored, or zero:stage=1 or 2"},
       {"--batch-sizes with auto",
        [](const Options &o) {
          return !o.batchSizes.empty() && uses(o, "auto");
        },
        "it cuts one batch in parts of its own", "give --batch-size alone"},
       {"--device-weights with auto",
        [](const Options &o) {
          return !o.deviceWeights.empty() && uses(o, "auto");
        },
        "their programs and predictions are those of equal devices",
        "use mirrored or zero"}},
      nullptr};
  return row;
}

} // namespace dist::tools
