//===- parameter_server.cpp - Variables on servers, workers apart ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/strategies/row.h"

namespace dist::tools {

const StrategyRow &parameterServerStrategy() {
  static const StrategyRow row = {
      "parameter-server",
      "variables on servers (whole, or with --partitioner cut along dim 0); "
      "each worker pulls them, computes gradients of batches of its own, "
      "mirrored over its devices, and pushes them; servers apply them as they "
      "come",
      "workers differ in speed, or come and go, and steps need not be those of "
      "one device; or the optimizer's slots do not fit beside the variables",
      "the variables' bytes to and the gradients' from each worker a step; no "
      "worker waits for another",
      "gradients are of variables that others may have updated since "
      "(dist-run --staleness bounds it); moving statistics of batch norm are "
      "the last push's; "
      "clipping and the finite check are of a worker's own gradients",
      "tf.distribute ParameterServerStrategy; PyTorch and JAX: none",
      "data",
      {},
      false,
      {{"parameter-server without workers",
        [](const Options &o) {
          return uses(o, "parameter-server") && o.workers == 0;
        },
        "nothing says how many processes compute gradients",
        "add --workers N, set TF_CONFIG, or give --cluster"},
       {"parameter-server without servers",
        [](const Options &o) {
          return uses(o, "parameter-server") && o.servers == 0;
        },
        "nothing says how many processes hold the variables",
        "add --servers M, set TF_CONFIG, or give --cluster"},
       {"parameter-server without a loss",
        [](const Options &o) {
          return uses(o, "parameter-server") && o.losses.empty();
        },
        "servers hold variables while these are trained",
        "add --loss, or use one-device"},
       {"parameter-server with multi-worker-mirrored",
        [](const Options &o) {
          return uses(o, "parameter-server") &&
                 uses(o, "multi-worker-mirrored");
        },
        "the one's workers wait for each other each step, the other's never",
        "use mirrored for a worker's devices"},
       {"parameter-server with tensor-split",
        [](const Options &o) {
          return uses(o, "parameter-server") && uses(o, "tensor-split");
        },
        "a worker pulls and pushes whole variables, which its devices have "
        "alike",
        "use mirrored for a worker's devices"},
       {"parameter-server with pipeline",
        [](const Options &o) {
          return uses(o, "parameter-server") && uses(o, "pipeline");
        },
        "a worker pulls and pushes whole variables, which its devices have "
        "alike",
        "use mirrored for a worker's devices"},
       {"parameter-server with zero",
        [](const Options &o) {
          return uses(o, "parameter-server") && uses(o, "zero");
        },
        "slots are the servers' already",
        "use mirrored for a worker's devices"},
       {"parameter-server with --accumulate",
        [](const Options &o) {
          return uses(o, "parameter-server") && o.accumulate > 1;
        },
        "each push is an update", "give a larger --batch-size"},
       {"parameter-server with --precision f16",
        [](const Options &o) {
          return uses(o, "parameter-server") && o.precision == "f16";
        },
        "the loss scale follows overflows of all gradients together, and no "
        "server sees all",
        "use --precision bf16"},
       {"parameter-server with --compress",
        [](const Options &o) {
          return uses(o, "parameter-server") && !o.compress.empty();
        },
        "gradients that are pushed are not compressed", "leave it out"},
       {"parameter-server with --device-weights",
        [](const Options &o) {
          return uses(o, "parameter-server") && !o.deviceWeights.empty();
        },
        "their programs are those of equal devices", "leave it out"},
       {"parameter-server with --entries",
        [](const Options &o) {
          return uses(o, "parameter-server") &&
                 !(o.entries.empty() && o.inputGradients.empty());
        },
        "a worker's entries are gradients, evaluate and predict, a server's is "
        "apply",
        "leave it out"},
       {"--partitioner without parameter-server",
        [](const Options &o) {
          return !o.partitioner.empty() && !uses(o, "parameter-server");
        },
        "it cuts variables for the servers",
        "add --strategy parameter-server"}},
      nullptr,
      /*hasProcesses=*/false,
      /*hasServers=*/true};
  return row;
}

} // namespace dist::tools
