//===- tensor_split.cpp - Variables split over devices --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/strategies/row.h"

namespace dist::tools {

static std::vector<Proposal> propose(const PlanSpace &space) {
  // Where the layers' patterns allow, or the vocabulary (head, loss and token
  // tables) besides; the simplest first.
  const Strategy whole = {"tensor-split", {}},
                 inParts = {"tensor-split", {{"sequence-parallel", "true"}}};
  std::vector<Proposal> ways = {{whole}};
  // What the user says that is to be split is all that is.
  bool chooses =
      space.options.split.empty() && space.options.splitPreset.empty();
  if (chooses)
    ways.push_back({whole, "auto,vocab", true});
  // With several axes there are many plans: of each kind one is enough.
  if (!space.isAlone())
    return ways;
  if (chooses)
    ways.push_back({whole, "vocab", true});
  // Norms and residual sums on parts of the tokens.
  ways.push_back({inParts, "", true});
  if (chooses)
    ways.push_back({inParts, "auto,vocab", true});
  return ways;
}

const StrategyRow &tensorSplitStrategy() {
  static const StrategyRow row = {
      "tensor-split",
      "variables split by --split rules, or where the model's own patterns "
      "allow (column-then-row pairs, heads, channels)",
      "a layer's weights or activations are too large for a device, or the "
      "batch is too small to split",
      "2 all-reduces of a layer's activations a pair of layers and step",
      "dims that the axis does not divide are padded (refused where half "
      "would be padding, and with --strict-divisibility); heads are split "
      "over a part of it that divides them",
      "tf.distribute: none (DTensor layouts); PyTorch parallelize_module "
      "(tensor parallel); JAX NamedSharding of parameters",
      "model",
      {{"sequence-parallel",
        "norms and residual sums between split layers on parts of the tokens: "
        "smaller activations, sent in as many bytes; gradients of an "
        "embedding or head that is whole are then summed, too "
        "(--split-preset transformer,vocab splits them; default: false)",
        {"true", "false"}}},
      false,
      {{"--split without tensor-split",
        [](const Options &o) {
          return !o.split.empty() && !uses(o, "tensor-split") &&
                 !uses(o, "auto");
        },
        "--split splits variables, which only tensor-split does",
        "add --strategy tensor-split"},
       {"--split-preset without tensor-split",
        [](const Options &o) {
          return !o.splitPreset.empty() && !uses(o, "tensor-split") &&
                 !uses(o, "auto");
        },
        "--split-preset is tensor-split's", "add --strategy tensor-split"},
       {"--compress with tensor-split",
        [](const Options &o) {
          return !o.compress.empty() && uses(o, "tensor-split");
        },
        "what is left of a gradient is kept whole on each rank",
        "use mirrored, or zero:stage=1 or 2"}},
      propose};
  return row;
}

} // namespace dist::tools
