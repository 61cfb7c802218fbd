//===- multi_worker_mirrored.cpp - A copy on each device of all workers ---===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/strategies/row.h"

namespace dist::tools {

static std::vector<Proposal> propose(const PlanSpace &) {
  return {{{"multi-worker-mirrored", {}}}};
}

const StrategyRow &multiWorkerMirroredStrategy() {
  static const StrategyRow row = {
      "multi-worker-mirrored",
      "mirrored over the devices of several processes, on one machine or many: "
      "the mesh host x data, with one position of host a worker; with "
      "tensor-split, pipeline or zero behind it these are within a worker "
      "unless --mesh says otherwise",
      "one machine's devices are not enough, or each is to be a process of its "
      "own",
      "2(n-1)/n x the gradients' bytes a step; in levels, of which only one "
      "device's part passes between workers",
      "each worker has as many devices; batch norm is per replica unless "
      "--sync-batch-norm",
      "tf.distribute MultiWorkerMirroredStrategy; PyTorch "
      "DistributedDataParallel with torchrun --nnodes; JAX "
      "jax.distributed.initialize and a mesh over all processes",
      "host",
      {},
      true,
      {{"multi-worker-mirrored without workers",
        [](const Options &o) {
          return uses(o, "multi-worker-mirrored") && o.workers == 0;
        },
        "nothing says how many processes there are",
        "add --workers N, set TF_CONFIG, or give --cluster"},
       {"multi-worker-mirrored with mirrored",
        [](const Options &o) {
          return uses(o, "multi-worker-mirrored") && uses(o, "mirrored");
        },
        "it mirrors over each worker's devices, too", "leave mirrored out"}},
      propose,
      /*hasProcesses=*/true};
  return row;
}

} // namespace dist::tools
