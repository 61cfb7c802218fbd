//===- multi_worker_mirrored.cpp - A copy on each device of all workers ---===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/strategies/row.h"
#include <algorithm>

namespace dist::tools {

/// With --sync-every, where a word goes to other workers at each step all the
/// same, or what they have apart has no mean.
static std::vector<RefusedRow> refusedRows() {
  return {
      {"multi-worker-mirrored without workers",
       [](const Options &o) {
         return uses(o, "multi-worker-mirrored") && o.workers == 0;
       },
       "nothing says how many processes there are",
       "add --workers N, set TF_CONFIG, or give --cluster"},
      {"multi-worker-mirrored with mirrored",
       [](const Options &o) {
         return uses(o, "multi-worker-mirrored") && uses(o, "mirrored");
       },
       "it mirrors over each worker's devices, too", "leave mirrored out"},
      {"--sync-every without multi-worker-mirrored",
       [](const Options &o) {
         return o.syncEvery > 0 && !uses(o, "multi-worker-mirrored");
       },
       "it is for workers that train the same variables", "leave it out"},
      {"--sync-every with one worker",
       [](const Options &o) { return o.syncEvery > 0 && o.workers == 1; },
       "there is no other to average with", "leave it out"},
      {"--sync-every with a mesh that does not begin with the workers",
       [](const Options &o) {
         return o.syncEvery > 0 && !o.mesh.empty() &&
                o.mesh.front().first != "host";
       },
       "what is split over workers would be gathered at each step",
       "begin --mesh with host=N, N the number of workers"},
      {"--sync-every with zero and one device a worker",
       [](const Options &o) {
         return o.syncEvery > 0 && uses(o, "zero") && o.devices.size() < 2;
       },
       "its shards would be over the workers", "give --devices cpu:N"},
      {"--sync-every with --entries gradients or apply",
       [](const Options &o) {
         return o.syncEvery > 0 &&
                std::any_of(o.entries.begin(), o.entries.end(),
                            [](const std::string &one) {
                              return one == "gradients" || one == "apply";
                            });
       },
       "each worker makes its own updates", "use train"},
      {"--sync-every with pipeline",
       [](const Options &o) { return o.syncEvery > 0 && uses(o, "pipeline"); },
       "a stage's program is not averaged", "leave one of them out"},
      {"--sync-every with --compress",
       [](const Options &o) { return o.syncEvery > 0 && !o.compress.empty(); },
       "gradients do not leave a worker", "leave --compress out"},
      {"--sync-every with --accumulate",
       [](const Options &o) { return o.syncEvery > 0 && o.accumulate > 1; },
       "each batch makes an update of its own between averages",
       "leave --accumulate out, and give a larger K"},
      {"--sync-every with --device-weights",
       [](const Options &o) {
         return o.syncEvery > 0 && !o.deviceWeights.empty();
       },
       "workers' means count alike", "leave --device-weights out"},
      {"--sync-every with --batch-sizes",
       [](const Options &o) {
         return o.syncEvery > 0 && !o.batchSizes.empty();
       },
       "a worker's part of the batch is of one size", "give --batch-size"},
      {"--sync-every with --precision f16",
       [](const Options &o) { return o.syncEvery > 0 && o.precision == "f16"; },
       "workers would have loss scales of their own", "use --precision bf16"},
      {"--sync-every with --elastic",
       [](const Options &o) { return o.syncEvery > 0 && o.elastic; },
       "what a lost worker trained since the last average is nowhere else",
       "use --checkpoint DIR with --max-restarts"},
  };
}

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
      refusedRows(),
      propose,
      /*hasProcesses=*/true};
  return row;
}

} // namespace dist::tools
