//===- Passes.td - Passes that annotate with a strategy -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_STRATEGY_PASSES_TD
#define PASSES_STRATEGY_PASSES_TD
include "mlir/Pass/PassBase.td"

def ReplicatePass : Pass<"dist-replicate", "::mlir::ModuleOp"> {
  let summary = "Splits the batch over replicas and mirrors the variables";
  let description = [{
    Adds the mesh and annotates: inputs, labels, masks and outputs are split
    along their batch dim over all `axes`; variables are copied to every rank,
    but ON_READ ones: those with SUM aggregation (metrics, gradient
    accumulators) are unreduced, those with MEAN (moving statistics, one row a
    replica) are split along dim 0. Nothing else changes: the partitioner
    derives the communication. With one rank in all the pass does nothing.

    Before:
    ```mlir
    func.func @f(%x: tensor<4x8xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
    ```
    After `dist-replicate{axes=data:2}`:
    ```mlir
    dist.mesh @mesh ["data"=2]
    func.func @f(%x: tensor<4x8xf32> {graph.role = "input", graph.batch_dim = 0 : i64,
      dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>})
    ```
  }];
  let options = [
    ListOption<"axes", "axes", "std::string",
      "Mesh axes of the replicas, major to minor, each NAME:SIZE">,
    Option<"strategy", "strategy", "std::string", "\"mirrored\"",
      "Name of the strategy, for the reasons shown to users">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}
#endif // PASSES_STRATEGY_PASSES_TD
