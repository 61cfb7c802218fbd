//===- mirrored.cpp - A copy of the variables on each device --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/strategies/row.h"

namespace dist::tools {

static std::vector<Proposal> propose(const PlanSpace &space) {
  // Over several processes it is another one.
  if (space.workers > 1)
    return {};
  return {{{"mirrored", {}}}};
}

const StrategyRow &mirroredStrategy() {
  static const StrategyRow row = {
      "mirrored",
      "a copy of the variables on each device, the batch split; gradients are "
      "all-reduced",
      "steps are long next to the all-reduce, and the variables fit a device",
      "2(n-1)/n x the gradients' bytes a step",
      "batch norm is per replica unless --sync-batch-norm",
      "tf.distribute MirroredStrategy; PyTorch DistributedDataParallel; JAX "
      "jit over a mesh with the batch sharded (pmap)",
      "data",
      {},
      true,
      {},
      propose};
  return row;
}

} // namespace dist::tools
