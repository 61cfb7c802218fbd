//===- Passes.td - Shardings in the words of other dialects -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_INTERCHANGE_PASSES_TD
#define PASSES_INTERCHANGE_PASSES_TD
include "mlir/Pass/PassBase.td"

def ExportShardPass : Pass<"dist-export-shard", "::mlir::ModuleOp"> {
  let summary = "Writes meshes and shardings as upstream's shard dialect";
  let description = [{
    Of an annotated module, before dist-partition. The grid keeps the axes' names
    in `axis_names`. Values that are annotated go through a `shard.shard`, results
    of functions and reshards through one that is annotated for its users.

    The shard dialect has no unreduced values, open dims or priorities: those
    are an error. Parts of an axis are dims of the grid.

    Before:
    ```mlir
    dist.mesh @mesh ["data"=2, "model"=4]
    %0 = graph.exp %x {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {} ]>]} : tensor<4x8xf32>
    ```
    After:
    ```mlir
    shard.grid @mesh(shape = 2x4) {axis_names = ["data", "model"]}
    %0 = graph.exp %x : tensor<4x8xf32>
    %sharding = shard.sharding @mesh split_axes = [ [0] ] : !shard.sharding
    %1 = shard.shard %0 to %sharding : tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::shard::ShardDialect"];
}

def ImportShardPass : Pass<"dist-import-shard", "::mlir::ModuleOp"> {
  let summary = "Reads meshes and shardings from upstream's shard dialect";
  let description = [{
    The inverse of dist-export-shard. A second, different annotation of a value
    is a reshard. Grids of dynamic shape, halos, shards of given sizes and
    the dialect's collectives are an error.

    Before: `shard.grid @mesh(shape = 2x4)`.
    After: `dist.mesh @mesh ["axis0"=2, "axis1"=4]`.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def ExportSdyPass : Pass<"dist-export-sdy", "::mlir::ModuleOp"> {
  let summary = "Writes meshes and shardings as Shardy's dialect does";
  let description = [{
    Of an annotated module, before dist-partition. The ops and attributes are
    text: Shardy reads it where it knows the other ops. Parts of an axis become
    Shardy's sub-axes, all of them the axis.

    Before: `dist.mesh @mesh ["a"=2]`, `dist.shardings = [#dist.sharding<@mesh, [{"a"} ]>]`.
    After: `sdy.mesh @mesh = <["a"=2]>`, `sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"} ]>]>`.
  }];
  let dependentDialects = ["::mlir::dist::SdyDialect"];
}

def ImportSdyPass : Pass<"dist-import-sdy", "::mlir::ModuleOp"> {
  let summary = "Reads meshes and shardings from Shardy's text";
  let description = [{
    The inverse of dist-export-sdy. Where a sharding names a part of an axis
    (`"a":(1)2`), the mesh is refined (see dist.mesh). Meshes written in place and
    Shardy's other ops are an error.

    Before: `%1 = sdy.sharding_constraint %0 <@mesh, [{"a"} ]> : tensor<8xf32>`.
    After: `%1 = dist.reshard %0 to #dist.sharding<@mesh, [{"a"} ]> because "sdy.sharding_constraint" : tensor<8xf32>`.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}
#endif // PASSES_INTERCHANGE_PASSES_TD
