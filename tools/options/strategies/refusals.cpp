//===- refusals.cpp - What no strategy combines with ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/strategies/row.h"
#include <algorithm>

namespace dist::tools {

/// Whether some strategy has the fact.
static bool any(const Options &options, bool (*has)(const StrategyRow &row)) {
  return std::any_of(
      options.strategies.begin(), options.strategies.end(),
      [&](const Strategy &one) { return has(*findStrategy(one.name)); });
}

static bool sumsAmongDevices(const Options &options) {
  return any(options,
             [](const StrategyRow &row) { return row.sumsAmongDevices; });
}

/// In parts that devices have at a time, or one after the other.
static bool splitsBatch(const Options &options) {
  return any(options, [](const StrategyRow &row) {
    const std::string axis = row.axis ? row.axis : "";
    return axis == "data" || axis == "host" || axis == "stage";
  });
}

const std::vector<RefusedRow> &generalRefusals() {
  static const std::vector<RefusedRow> rows = {
      {"a strategy twice",
       [](const Options &o) {
         return std::any_of(
             o.strategies.begin(), o.strategies.end(),
             [&](const Strategy &one) {
               return std::count_if(o.strategies.begin(), o.strategies.end(),
                                    [&](const Strategy &other) {
                                      return other.name == one.name;
                                    }) > 1;
             });
       },
       "a strategy is given twice", "give it once, with all its keys"},
      {"--all-reduce nccl",
       [](const Options &o) { return o.allReduce == "nccl"; },
       "this build has no communicator for GPUs",
       "give auto, ring, halving-doubling, hierarchical or reduce-to-one"},
      {"--all-reduce hierarchical with a mesh of one axis",
       [](const Options &o) {
         // Without a mesh, workers of several devices make one of two axes.
         if (o.allReduce != "hierarchical" ||
             (o.mesh.empty() && o.workers > 1 && o.devices.size() > 1))
           return false;
         return std::count_if(
                    o.mesh.begin(), o.mesh.end(),
                    [](const auto &axis) { return axis.second > 1; }) < 2;
       },
       "each level is an axis", "add --mesh host=N,data=M"},
      {"--compress without a strategy that splits the batch",
       [](const Options &o) {
         return !o.compress.empty() && !sumsAmongDevices(o);
       },
       "only sums of gradients are compressed", "add --strategy mirrored"},
      {"--compress with --precision f16",
       [](const Options &o) {
         return !o.compress.empty() && o.precision == "f16";
       },
       "what is left would be in units of a loss scale that changes",
       "use --precision bf16"},
      {"--device-weights without a strategy that splits the batch",
       [](const Options &o) {
         return !o.deviceWeights.empty() && !splitsBatch(o);
       },
       "they are parts of the batch", "add --strategy mirrored"},
      {"--device-weights with --compress",
       [](const Options &o) {
         return !o.deviceWeights.empty() && !o.compress.empty();
       },
       "what is left of a gradient is kept by ranks of one program",
       "leave one of them out"},
      {"--device-weights with --strict-divisibility",
       [](const Options &o) {
         return !o.deviceWeights.empty() && o.strictDivisibility;
       },
       "that asks for equal parts", "leave one of them out"},
      {"--batch-sizes with --device-weights",
       [](const Options &o) {
         return !o.batchSizes.empty() && !o.deviceWeights.empty();
       },
       "they cut one batch", "give --batch-size alone"},
      {"--recompute without a loss",
       [](const Options &o) {
         return !o.recompute.empty() && o.losses.empty();
       },
       "only training has a backward pass", "add --loss"}};
  return rows;
}

} // namespace dist::tools
