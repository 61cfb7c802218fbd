//===- Passes.td - Workers that train by themselves -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_WORKERS_PASSES_TD
#define PASSES_WORKERS_PASSES_TD
include "mlir/Pass/PassBase.td"

def CountOwnExamplesPass : Pass<"dist-count-own-examples", "::mlir::func::FuncOp"> {
  let summary = "A worker's means are over its own examples";
  let description = [{
    An entry for batches that may be short divides by the argument `count`: the
    examples of the whole batch. Where several workers run the entry on a part of
    the batch each, without a word to each other (see dist-average-workers), that
    is not the number that a worker has: it becomes the sum of the mask, and 1
    where that is 0. The loss that is returned (and was differentiated before)
    becomes the worker's part of the whole batch's mean, so that the workers' add
    up.

    Before:
    ```mlir
    %loss = graph.div %sum, %count
    return %loss
    ```
    After:
    ```mlir
    %own = graph.reduce sum of %mask ...
    %loss = graph.div %sum, (graph.max %own, %one)
    return (graph.mul %loss, (graph.div %own, %count))
    ```
  }];
  let options = [
    Option<"workers", "workers", "int64_t", "2",
      "How many there are: of a full batch each has as many examples">,
  ];
  let dependentDialects = ["::mlir::dist::graph::GraphDialect"];
}

def AverageWorkersPass : Pass<"dist-average-workers", "::mlir::ModuleOp"> {
  let summary = "Workers train by themselves and average their variables now and then";
  let description = [{
    Local SGD (Stich, "Local SGD Converges Fast and Communicates Little", 2019):
    takes the partitioned program of one worker, on its part of the batch, and
    makes it that of `workers`: the mesh gets the axis `axis` of as many
    positions, each a process, before its own; what has a batch dim is split over
    it first. No op of the program has it in a group: sums and means are over a
    worker's own devices and examples, and variables differ between workers.
    Functions say so by `dist.own_axis`, which no collective along that axis may
    contradict. A step's loss and whether it is finite are returned of each
    worker: as tensors that are split over the axis. An entry that counts its
    random draws (`random/step`) draws by step * workers + the worker's number:
    workers do not drop the same places.

    A new entry `sync` makes them equal: floating-point variables that an entry
    changes, optimizer slots and moving statistics among them, become their means,
    integers (counters) their maxima. Sums that are read over all ranks (ON_READ,
    SUM: metrics) are of all workers as they are. A variable that is whole on
    several devices of a worker is averaged over these, too, so that
    dist-hierarchical-collectives can send one device's part of it.

    Before:
    ```mlir
    dist.mesh @mesh ["data"=2]
    func.func @train_step(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>, ...}, %w: tensor<8xf32> {graph.variable = @w, ...})
    ```
    After `dist-average-workers{axis=host workers=2}`:
    ```mlir
    dist.mesh @mesh ["host"=2, "data"=2] {processes = {host = 2 : i64}}
    func.func @train_step(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"host", "data"}, {} ]>, ...}, %w: tensor<8xf32> {graph.variable = @w, ...}) attributes {dist.own_axis = "host"}
    func.func @sync(%w: tensor<8xf32> {graph.variable = @w, ...}) -> (tensor<8xf32> {graph.variable = @w, ...}) {
      %0 = dist.all_reduce %w over @mesh ["host", "data"] ...
      %1 = graph.mul %0, %quarter
      return %1
    }
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"host\"", "Name of the workers' axis">,
    Option<"workers", "workers", "int64_t", "2", "How many there are">,
    Option<"every", "every", "int64_t", "1", "After how many steps `sync` is to run, for the reasons shown to users">,
    Option<"linkCost", "link-cost", "double", "1", "Of a byte between workers, against one within">,
    Option<"bytesPerPack", "bytes-per-pack", "int64_t", "0", "A transfer takes no more variables once it has more bytes than this; 0: all">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::dist::graph::GraphDialect", "::mlir::func::FuncDialect"];
}

#endif // PASSES_WORKERS_PASSES_TD
