//===- Passes.td - From annotations to programs of one rank -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_PASSES_TD
#define PASSES_PARTITION_PASSES_TD
include "mlir/Pass/PassBase.td"

def NumberOpsPass : Pass<"dist-number-ops", "::mlir::func::FuncOp"> {
  let summary = "Gives every op its number, by which a partitioned op is known";
  let description = [{
    Sets `dist.origin` on all ops with results, in order, unless some op has one. The partitioned
    function keeps the numbers, so that its values can be compared with those of
    the function as it was here.

    Before: `%0 = graph.exp %x : ...`
    After: `%0 = graph.exp %x {dist.origin = 0 : i64} : ...`
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def PropagateShardingPass : Pass<"dist-propagate-sharding", "::mlir::ModuleOp"> {
  let summary = "Spreads shardings from annotated values to all others";
  let description = [{
    By the ops' factor rules, forward and backward until nothing changes. A dim
    takes axes only if it is open (all dims of values without an annotation are)
    and its size divides. Where sources disagree, first nothing moves beyond
    their common prefix; then, once all else is settled, the largest tensor
    wins. Constants and what is computed from scalars alone are first copied for
    each use, so that one use does not decide for another. A variable is one
    value to all functions; the one with the most ops decides first. Afterwards
    every op has `dist.shardings`, every argument and result `dist.sharding`,
    all closed; with `close=false` dims stay open for the next round.

    Before:
    ```mlir
    func.func @f(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"} ]>}) {
      %0 = graph.exp %x : tensor<4xf32>
    ```
    After: `graph.exp` has
    `{dist.shardings = [#dist.sharding<@mesh, [{"data"} ]>]}`.
  }];
  let options = [
    Option<"close", "close", "bool", "true",
      "Closes all dims; else a later round may split open ones further">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def InsertReshardsPass : Pass<"dist-insert-reshards", "::mlir::func::FuncOp"> {
  let summary = "Makes each op's operands and results agree on one split of its factors";
  let description = [{
    For each op the split of each factor that most bytes already have is chosen;
    operands laid out differently go through a `dist.reshard`, shared by all
    users that want the same. Dims that an op needs whole are gathered.
    Function results that should be laid out differently are resharded, too.

    Before: an op `graph.add %a, %b` with `%a` split over "data" and `%b` over "model".
    After:
    ```mlir
    %1 = dist.reshard %b to <@mesh, [{"data"} ]> because "..." : tensor<4xf32>
    %2 = graph.add %a, %1 : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def InsertAllReducePass : Pass<"dist-insert-all-reduce", "::mlir::func::FuncOp"> {
  let summary = "Finds unreduced values and reduces them where that costs least";
  let description = [{
    An op that sums over a split factor gives an unreduced value, and ops that
    are linear in their unreduced operands pass that on. Where a value must be
    reduced, the `dist.all_reduce` stands at the point of the linear chain with
    the fewest bytes, the first of equals (but summands that meet are added
    first), and a value with several users is reduced once. Reductions other than sums are completed at once. Results
    declared unreduced (ON_READ state) cost nothing; a replicated summand of one
    is divided by the number of ranks.

    Before:
    ```mlir
    %g = graph.dot_general %x, %dy ...   // contracts a dim split over "data"
    return %g
    ```
    After:
    ```mlir
    %g = graph.dot_general %x, %dy {dist.shardings = [#dist.sharding<@mesh, [{}, {} ], unreduced = {"data"}>]}
    %1 = dist.all_reduce %g over @mesh ["data"] {reason = "...", origin = "..."}
    return %1
    ```
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def VerifyUnreducedPass : Pass<"dist-verify-unreduced", "::mlir::func::FuncOp"> {
  let summary = "Proves that no partial sum is taken for a whole one";
  let description = [{
    Between dist-insert-all-reduce and dist-partition: checks from the ops'
    rules that each value's sharding says over which axes it is unreduced, and
    that unreduced values reach only ops that are linear in exactly those
    operands, reductions, and results declared so. Changes nothing.
  }];
}

def PartitionPass : Pass<"dist-partition", "::mlir::ModuleOp"> {
  let summary = "Global to local shapes: the program of one rank";
  let description = [{
    Every op becomes its part on one rank (`ShardingRuleOpInterface::partition`),
    every `dist.reshard` the collectives that do it, argument and result types
    become local. `dist.sharding` stays, `dist.global_type` is added. Ops keep
    `dist.origin` and `dist.shardings`.

    The collectives of a reshard are a shortest path through layouts: bytes sent
    times the cost of the link, and a little for each step. The mesh may say how
    much dearer an axis is than others (`link_costs`); without a word all are
    equal:
    ```mlir
    dist.mesh @mesh ["host"=2, "data"=4] {link_costs = {host = 8.0}}
    ```

    Before: `graph.exp %x : tensor<4xf32>`, split over "data" of size 2.
    After: `graph.exp %x : tensor<2xf32>`.
  }];
  // A whole value that becomes a sum is divided among the ranks.
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::dist::graph::GraphDialect"];
}

def CombineCollectivesPass : Pass<"dist-combine-collectives", "::mlir::func::FuncOp"> {
  let summary = "Merges collectives into buckets";
  let description = [{
    All-reduces of one group, reduction and element type become one with several
    operands, in the order in which the backward pass gives their operands (last
    layers first); so do reduce-scatters, and all-gathers whose results are only
    returned (updated variables; what is gathered to compute with stays where
    it is). A bucket is full once it exceeds `bytes-per-pack`; 0 means no
    limit. Scalars (the loss) join the last bucket. An op never joins a bucket it
    depends on.

    Before: `%1 = dist.all_reduce %a ...` and `%2 = dist.all_reduce %b ...`
    After: `%1:2 = dist.all_reduce %a, %b ...`
  }];
  let options = [
    Option<"bytesPerPack", "bytes-per-pack", "int64_t", "0",
      "A bucket takes no more once it has more bytes than this; 0: one bucket">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def OverlapCollectivesPass : Pass<"dist-overlap-collectives", "::mlir::func::FuncOp"> {
  let summary = "Splits collectives into start and wait";
  let description = [{
    The start stands right after the last operand, the wait right before the
    first user. Only where at least one op that computes stands between.

    Before: `%1 = dist.all_reduce %a ...`, some ops, a use of `%1`
    After: `%t = dist.all_reduce_start %a ...`, the ops, `%1 = dist.wait %t`, the use.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def StripShardingsPass : Pass<"dist-strip-shardings", "::mlir::func::FuncOp"> {
  let summary = "Drops what only partitioning and checking need from ops";
  let description = [{
    Removes `dist.origin` and `dist.shardings` from ops, so that equal ops are
    equal again to later passes. Arguments and results keep their attributes.

    Before: `graph.exp %x {dist.origin = 3 : i64} : ...`
    After: `graph.exp %x : ...`
  }];
}
#endif // PASSES_PARTITION_PASSES_TD
