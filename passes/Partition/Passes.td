//===- Passes.td - From annotations to programs of one rank -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_PASSES_TD
#define PASSES_PARTITION_PASSES_TD
include "mlir/Pass/PassBase.td"
include "passes/Partition/ServerPasses.td"

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
    and its size divides, or is worth padding: less than half of the parts is
    padding (with `strict-divisibility` only if it divides, and an annotation of
    another dim is an error). Where sources disagree, first nothing moves beyond
    their common prefix; then, once all else is settled, the largest tensor
    wins. Constants and what is computed from scalars alone are first copied for
    each use, so that one use does not decide for another. A variable is one
    value to all functions; the one with the most ops decides first. Afterwards
    every op has `dist.shardings`, every argument and result `dist.sharding`,
    all closed; with `close=false` dims stay open for the next strategy.

    Dims with a priority (`{"data"}p1`) come in later: one round a priority,
    lowest number first, each to its end with all conflicts resolved. Until its
    round such a dim is whole and closed, and no other dim of the tensor gets
    its axes. Afterwards no dim has a priority any more; with `close=false` each
    keeps its own, and what a round has split has that of the round, so that a
    later propagation does not bring it forward.

    An axis of which a factor of a reshape can use but a part stays out of it as
    a whole, unless it is one of `cut-axes`: the mesh is then refined (see
    dist.mesh), so that [2, 8] merged into 16 over "model"=4 is split over
    "model:(1)2" and "model:(2)2". With
    `sources` the mesh gets a table of where each axis of each value came from,
    and what has a sharding names its rows as `dist.sources`: later passes note on
    what moves data from which rows that follows (`dist.causes`).

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
    Option<"sources", "sources", "bool", "false",
      "Keeps for each axis of each value from which one it came, for explanations">,
    Option<"strictDivisibility", "strict-divisibility", "bool", "false",
      "A dim is split only into equal parts">,
    ListOption<"cutAxes", "cut-axes", "std::string",
      "Axes that are cut where a reshape can use a part of them only">,
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

    A reshard is implicit if it was not asked for: neither a `dist.reshard` in the
    program nor a declared layout of a result. One that gives every rank the whole
    of a value that was split is an error unless `allow-replicate`; variables
    are excepted, since those that are stored in parts are gathered by intent.
    With `error-on-implicit-reshard` each is an error. The errors name the op, the
    value, and what splits either of them.

    Before: an op `graph.add %a, %b` with `%a` split over "data" and `%b` over "model".
    After:
    ```mlir
    %1 = dist.reshard %b to <@mesh, [{"data"} ]> because "..." : tensor<4xf32>
    %2 = graph.add %a, %1 : tensor<4xf32>
    ```
  }];
  let options = [
    Option<"allowReplicate", "allow-replicate", "bool", "true",
      "A value that is split may be gathered whole on every rank">,
    Option<"errorOnImplicitReshard", "error-on-implicit-reshard", "bool", "false",
      "A value may change its layout only where the program says so">,
  ];
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

def SplitPortionsPass : Pass<"dist-split-portions", "::mlir::ModuleOp"> {
  let summary = "A program for each part of the batch, where devices are unequal";
  let description = [{
    After dist-insert-all-reduce; without weights nothing changes. The positions of
    an axis take parts of the batch in proportion to their weights, so that
    shapes differ: each entry becomes one function a position, `@ENTRY_portion0` and
    so on, which is still the global program, and knows its part
    (`dist.portion`). dist-partition then makes the ops of that part: dims of
    examples (of inputs, and what ops tie to them) are split by weight, all
    others that the axis splits in equal parts. Where examples start is a
    constant of the program: a value that every place has whole is cut at it.
    Collectives over the axis move what does not depend on the number of
    examples; examples that would have to be gathered are an error.

    Before, on a mesh ["data"=2], with weights 3,1:
    ```mlir
    func.func @f(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>})
    ```
    After this pass and dist-partition:
    ```mlir
    func.func @f_portion0(%x: tensor<6x4xf32> {...}) attributes {dist.entry = "f",
      dist.portion = {axis = "data", position = 0 : i64, weights = array<i64: 3, 1>}}
    func.func @f_portion1(%x: tensor<2x4xf32> {...}) attributes {dist.entry = "f",
      dist.portion = {axis = "data", position = 1 : i64, weights = array<i64: 3, 1>}}
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"data\"",
      "The mesh axis whose positions have weights; the first one">,
    ListOption<"weights", "weights", "int64_t",
      "One a position along the axis; none: all are equal">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def PadIndivisiblePass : Pass<"dist-pad-indivisible", "::mlir::func::FuncOp"> {
  let summary = "Makes dims that are split as large as equal parts need";
  let description = [{
    After dist-insert-all-reduce, before dist-partition, which then sees only
    dims that divide. A dim of 10 split over 3 ranks becomes one of 12, whose
    last two elements are padding: they stand at the end, so that ranks hold 4,
    4 and 2 elements of the value.
    - What the padding holds is left open; element-wise ops compute with it.
    - Before an op that sums over the dim (or multiplies, or takes a maximum), a
      select puts the neutral element there; a contraction's operands get zeros.
      It is a select since no product of a NaN is zero. So do operands that are
      positions in another dim (a gather's indices): 0 is always one.
    - Variables have zeros there at the start of a step and, by a select that
      fuses into the update, at its end: weights need no mask in a contraction.
      Zeros are followed through what is linear in all of its operands.
    - A rank knows its positions from an iota, of which it takes its part: one for
      each size and axes of a function.
    - A reshard pads a dim that was whole before it cuts it, and drops the padding
      of one that is whole again; between parts of two sizes the dim is whole.
    - Ops that need neighbours or the whole of a dim, and reshapes that merge or
      cut it, never see padding: their rules keep dist-insert-reshards from
      splitting there, so that the value is gathered first.
    - Arguments and results become larger, too; `dist.global_type` says what
      they are to the world: a checkpoint, an exported model and the runtime's
      inputs and outputs know nothing of padding.

    Before, with 3 ranks along "model":
    ```mlir
    %0 = graph.reduce max, %x {dims = array<i64: 0>} : (tensor<10xf32>) -> tensor<f32>
    ```
    After:
    ```mlir
    %i = graph.iota {dim = 0 : i64} : tensor<12xi32>
    %p = dist.reshard %i to <@mesh, [{"model"} ]> because "..." : tensor<12xi32>
    %c = graph.compare lt, %p, %ten : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi1>
    %m = graph.select %c, %x, %minus_infinity : ...
    %0 = graph.reduce max, %m {dims = array<i64: 0>} : (tensor<12xf32>) -> tensor<f32>
    ```
  }];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::dist::graph::GraphDialect"];
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

def SimplifyCollectivesPass : Pass<"dist-simplify-collectives", "::mlir::func::FuncOp"> {
  let summary = "Fewer bytes, fewer collectives, less work done twice; the same values";
  let description = [{
    On local shapes, after dist-partition and before buckets are made:
    - an all_reduce of which only a cut is read becomes a reduce_scatter; a cut
      over other axes goes before the reduction;
    - collectives of collectives that are one, or none: gather and cut, cut and
      gather, scatter and gather, exchanges there and back, moves of shards;
      groups of one rank;
    - equal collectives of one value are one, but gathers of a variable, which
      ZeRO's third stage has before each use so that no rank keeps it whole;
    - what is linear in reduced values (sums, scaled ones) is computed from
      partial sums and reduced once, where that is fewer bytes;
    - a cut moves before the op whose value it cuts, if nothing else reads that.
    What stands for several has the reasons, positions and causes of all.

    Before:
    ```mlir
    %1 = dist.all_reduce %0 over @mesh ["data"] {...} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = graph.tanh %1 : tensor<4xf32>
    %3 = dist.all_slice %2 over @mesh ["data"] {dims = array<i64: 0>, ...} : (tensor<4xf32>) -> tensor<2xf32>
    ```
    After:
    ```mlir
    %1 = dist.reduce_scatter %0 over @mesh ["data"] {dims = array<i64: 0>, ...} : (tensor<4xf32>) -> tensor<2xf32>
    %2 = graph.tanh %1 : tensor<2xf32>
    ```
  }];
  let options = [
    Option<"sumFirst", "sum-first", "std::string", "\"\"",
      "A mesh axis over which values are summed before they are scattered over others">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def CompressCollectivesPass : Pass<"dist-compress-collectives", "::mlir::ModuleOp"> {
  let summary = "Gradients are summed over ranks in fewer bytes";
  let description = [{
    Behind dist-partition, before buckets are made. Only the sums of gradients
    that updates are made from: what is clipped, checked and applied is the sum
    of what was sent, and steps that only accumulate send nothing. What a rank
    does not send it adds to its gradient of the next step (error feedback):
    a variable `compression/error/NAME`, ON_READ + SUM like an accumulator, so
    that a checkpoint keeps each rank's, and at another number of ranks their
    sum. A step that --on-nonfinite=skip leaves out leaves it alone, too.

    Methods: `f16` and `bf16` (reduced in that type), `int8` (gathered with the
    scale of the largest magnitude, and summed by each rank), `topk:ratio=X` (the
    largest of each block of 1024 and their positions, gathered and scattered),
    `powersgd:rank=R` (factors of matrices, reduced; the right one is a variable,
    from which the next step starts). Gradients of which a method would send no
    fewer bytes stay as they are. Where the ranks are of several processes, only
    sums between these are compressed: within one, bytes cost less than the work
    to save them. The entry's attribute `compression` says what
    it comes to.

    Before:
    ```mlir
    %1 = dist.all_reduce %g over @mesh ["data"] ... : (tensor<64xf32>) -> tensor<64xf32>
    ```
    After `dist-compress-collectives{method=bf16}`:
    ```mlir
    %p = graph.add %g, %error
    %h = graph.convert %p : (tensor<64xf32>) -> tensor<64xbf16>
    %2 = dist.all_reduce %h over @mesh ["data"] ... : (tensor<64xbf16>) -> tensor<64xbf16>
    %1 = graph.convert %2 : (tensor<64xbf16>) -> tensor<64xf32>
    %s = graph.convert %h : (tensor<64xbf16>) -> tensor<64xf32>
    %e = graph.sub %p, %s  // the variable's new value
    ```
  }];
  let options = [
    Option<"method", "method", "std::string", "\"bf16\"",
      "f16, bf16, int8, topk:ratio=X or powersgd:rank=R">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::dist::graph::GraphDialect"];
}

def CombineCollectivesPass : Pass<"dist-combine-collectives", "::mlir::func::FuncOp"> {
  let summary = "Merges collectives into buckets";
  let description = [{
    All-reduces of one group, reduction and element type become one with several
    operands, in the order in which the backward pass gives their operands (last
    layers first); so do reduce-scatters, and all-gathers of compressed gradients
    or whose results are only returned (updated variables). A bucket is full once
    it exceeds `bytes-per-pack`; 0 means that all that can be one bucket becomes
    `parts` of them, each of at least 256 KiB: what is to run beside the backward
    pass cannot wait for its last gradient. Scalars (the loss) join the last
    bucket. An op never joins a bucket it depends on.

    Variables that are gathered to compute with are gathered with the one that is
    gathered before them, where that one was: ahead of their use, and held until
    it. So a bucket takes at most `bytes-per-pack` bytes (0: 256 KiB) behind its
    first, counted as gathered, and only the newest is open. What is gathered
    again, for the backward pass, joins only its like. Other gathers whose results
    are computed with stay where they are.

    Before: `%1 = dist.all_reduce %a ...` and `%2 = dist.all_reduce %b ...`
    After: `%1:2 = dist.all_reduce %a, %b ...`
  }];
  let options = [
    Option<"bytesPerPack", "bytes-per-pack", "int64_t", "0",
      "A bucket takes no more once it has more bytes than this; of variables, it takes no more than this ahead of their use; 0: see parts, and 256 KiB ahead">,
    Option<"parts", "parts", "int64_t", "1",
      "Buckets to make of what could be one, where bytes-per-pack is 0">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def ChooseAlgorithmPass : Pass<"dist-choose-algorithm", "::mlir::func::FuncOp"> {
  let summary = "Says how all-reduces go about it";
  let description = [{
    A ring, a sum at one rank and halving are the same collective in other
    messages; the communicator is told which. With `auto` and no table it does
    what it finds best.

    With `auto` and a table, ranks of several processes go the way that takes the
    least time by it, of those that sum in the order of ranks (all but `ring` and
    `halving_doubling`): the bits stay. It is chosen here, so that it is a part of the package and all
    ranks go the same way. `collectives-table` has times that `dist-run bench
    --collectives` has measured, `link-table` what the links of a cluster can do;
    either has to say how long each collective of the function takes: else an
    error.

    Before: `%1 = dist.all_reduce %0 over @mesh ["data"] ...`
    After: `%1 = dist.all_reduce %0 over @mesh ["data"] using ring ...`
  }];
  let options = [
    Option<"algorithm", "algorithm", "std::string", "\"auto\"",
      "auto, ring, reduce_to_one, exchange, gather, parts or halving_doubling">,
    Option<"collectivesTable", "collectives-table", "std::string", "\"\"",
      "File of measured times; none: no choice by them">,
    Option<"linkTable", "link-table", "std::string", "\"\"",
      "File of links by level, in the place of measured times">,
    Option<"hosts", "hosts", "int64_t", "1",
      "Machines that the ranks are spread over: what is between processes">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def HierarchicalCollectivesPass : Pass<"dist-hierarchical-collectives", "::mlir::func::FuncOp"> {
  let summary = "All-reduces over several axes become one a level";
  let description = [{
    Along the inner axis each rank reduces its part, the parts are reduced along
    the others (which may be levels again), and gathered: over the outer links
    goes only a part for each rank. Behind dist-combine-collectives: each level
    is one transfer a bucket. Operands none of whose dims divides stay in one
    all-reduce.

    Only where it pays by the bytes, the mesh's `link_costs` and the steps; with
    `always` wherever there are several axes. With `between-processes` only of
    axes some of which lie within processes and others are between them, those
    within first: what passes between processes is then one all-reduce, which
    dist-compress-collectives may compress.

    Before: `%1 = dist.all_reduce %0 over @mesh ["host", "data"] ...`
    After:
    ```mlir
    %1 = dist.reduce_scatter %0 over @mesh ["data"] {dims = array<i64: 0>, ...}
    %2 = dist.all_reduce %1 over @mesh ["host"] ...
    %3 = dist.all_gather %2 over @mesh ["data"] {dims = array<i64: 0>, ...}
    ```
  }];
  let options = [
    Option<"always", "always", "bool", "false",
      "Also where links that cost the same say that it does not pay">,
    Option<"betweenProcesses", "between-processes", "bool", "false",
      "Always, but only axes within processes apart from those between them">,
    Option<"inner", "inner", "std::string", "\"\"",
      "Axis of the fast links; none: that of the least link cost, the mesh's last of equals">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def OverlapCollectivesPass : Pass<"dist-overlap-collectives", "::mlir::func::FuncOp"> {
  let summary = "Splits collectives into start and wait";
  let description = [{
    The start stands right after the last operand, the wait right before the
    first user. Only where at least one op that computes stands between. A
    started gather holds its result's memory from the start on: starts come
    later, where more than `max-bytes` would be in flight at once.

    Before: `%1 = dist.all_reduce %a ...`, some ops, a use of `%1`
    After: `%t = dist.all_reduce_start %a ...`, the ops, `%1 = dist.wait %t`, the use.
  }];
  let options = [
    Option<"maxBytes", "max-bytes", "int64_t", "0",
      "Most bytes of results, not in place, of collectives in flight; 0: no limit">,
  ];
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
def SeparateMicrobatchesPass : Pass<"dist-separate-microbatches", "::mlir::ModuleOp"> {
  let summary = "The last mesh axis set apart: its ranks will be copies in time";
  let description = [{
    After dist-partition. The mesh loses `axis`; only a further mesh
    @microbatches has it, which shardings that name the axis are over. Arguments
    and results are what a rank has of all microbatches. A collective over the
    axis and others becomes one over @microbatches, which moves nothing, and one
    over the others. Ops of which there will be a copy for each microbatch are
    marked with `dist.microbatch`; what does not differ (an optimizer's update)
    is not.

    Before, in a mesh ["data"=2, "microbatch"=2]:
    ```mlir
    func.func @f(%x: tensor<2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "microbatch"}, {} ]>}) {
      %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<2x8xf32>) -> tensor<8xf32>
      %1 = dist.all_reduce %0 over @mesh ["data", "microbatch"] ...
    ```
    After:
    ```mlir
    func.func @f(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>}) {
      %m = dist.all_slice %x over @microbatches ["microbatch"] {dims = array<i64: 0>, dist.microbatch, ...}
      %0 = graph.reduce sum, %m {dims = array<i64: 0>, dist.microbatch} : (tensor<2x8xf32>) -> tensor<8xf32>
      %s = dist.all_reduce %0 over @microbatches ["microbatch"] ...
      %1 = dist.all_reduce %s over @mesh ["data"] ...
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"microbatch\"",
      "The mesh axis that is set apart">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::dist::graph::GraphDialect"];
}
def SplitStagesPass : Pass<"dist-split-stages", "::mlir::ModuleOp"> {
  let summary = "One function a stage of the pipeline";
  let description = [{
    After dist-partition (and dist-separate-microbatches). Each entry becomes one
    function a stage, `@ENTRY_stageN`. An op goes where the variables are that
    it depends on (forward) or that depend on it (backward); what depends on no
    variable with a stage is computed by every stage that wants it. Values that
    another stage reads are sent along the mesh axis `stage`, which the mesh
    gets as its major one. The attribute `pipeline` of the functions says by which
    schedule microbatches will run, and what that costs: gpipe (all forward, then
    all backward), 1f1b (as few microbatches in flight as can be) or interleaved
    (the same over several chunks a stage). What is backward work is marked
    with `dist.backward`.

    Before: `func.func @f(%x, %w0, %w1)`, where @w1 has stage 1.
    After:
    ```mlir
    func.func @f_stage0(%x, %w0) attributes {dist.entry = "f", dist.stage = 0 : i64} {
      %0 = graph.dot_general %x, %w0 ...
      dist.send %0 over @mesh ["stage"] to 1 tag 0 {...}
    func.func @f_stage1(%w1) attributes {dist.entry = "f", dist.stage = 1 : i64} {
      %0 = dist.recv over @mesh ["stage"] from 0 tag 0 {...}
      %1 = graph.dot_general %0, %w1 ...
    ```
  }];
  let options = [
    Option<"schedule", "schedule", "std::string", "\"1f1b\"",
      "gpipe, 1f1b or interleaved">,
    Option<"stages", "stages", "int64_t", "0",
      "Stages; 0: as many as the variables' largest says">,
    Option<"processes", "processes", "int64_t", "1",
      "Into how many processes the stages are cut">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}
def UnrollMicrobatchesPass : Pass<"dist-unroll-microbatches", "::mlir::ModuleOp"> {
  let summary = "Copies of ops, one a microbatch, in the schedule's order";
  let description = [{
    After dist-separate-microbatches and dist-split-stages. What differs from
    microbatch to microbatch is copied, with the copy's number as
    `dist.microbatch`; inputs are cut and outputs put together, and an
    all_reduce over the microbatches becomes sums of the copies in their order,
    as soon as they are there. In the functions of a pipeline's stages ops stand
    in the order of the schedule that `pipeline` names; elsewhere copy follows
    copy. So one step on a batch becomes one step on its microbatches.

    Before, of two microbatches:
    ```mlir
    %m = dist.all_slice %x over @microbatches ["microbatch"] {dims = array<i64: 0>, dist.microbatch, ...}
    %0 = graph.reduce sum, %m {dims = array<i64: 0>, dist.microbatch} : (tensor<2x8xf32>) -> tensor<8xf32>
    %s = dist.all_reduce %0 over @microbatches ["microbatch"] ...
    ```
    After:
    ```mlir
    %x0 = graph.slice %x {dist.microbatch = 0 : i64, ...}
    %a = graph.reduce sum, %x0 {dims = array<i64: 0>, dist.microbatch = 0 : i64} : (tensor<2x8xf32>) -> tensor<8xf32>
    %x1 = graph.slice %x {dist.microbatch = 1 : i64, ...}
    %b = graph.reduce sum, %x1 {dims = array<i64: 0>, dist.microbatch = 1 : i64} : (tensor<2x8xf32>) -> tensor<8xf32>
    %s = graph.add %a, %b : tensor<8xf32>
    ```

    With `microbatches`, functions of stages get the copies of only so many where
    these show what those of the others are: of the first ones and the last.
    Such a function has their number as `dist.shown_microbatches`; it is not what
    runs before rt-expand-microbatches.
  }];
  let options = [
    Option<"microbatches", "microbatches", "int64_t", "0",
           "of how many microbatches copies are made, where they show the others; 0: of all">
  ];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::dist::graph::GraphDialect"];
}
def SplitHostPass : Pass<"dist-split-host", "::mlir::ModuleOp"> {
  let summary = "One program for the devices, one for the host that has variables";
  let description = [{
    After dist-combine-collectives, so that both ends of a transfer have the same
    buckets; without variables placed on the host nothing changes. Each entry
    becomes `@ENTRY_device` and `@ENTRY_host`. The mesh gets a host, one rank
    more, which holds the placed variables and computes what they become and the
    results that are the same on all devices; everything that differs from device
    to device is theirs. A device receives each variable that it reads once, at
    the start. An all_reduce whose value only the host wants becomes a
    host_reduce; where devices want it, too, they keep the all_reduce. What both
    want of values that both have, both compute.

    Before: `func.func @f(%x, %w)`, where @w has `#dist.placement<host>`.
    After:
    ```mlir
    func.func @f_device(%x) attributes {dist.entry = "f", dist.placement = #dist.placement<device>} {
      %w = dist.host_broadcast over @mesh ["data"] {...} : () -> tensor<8xf32>
      %g = graph.dot_general ...
      dist.host_reduce %g over @mesh ["data"] {...} : (tensor<8xf32>) -> ()
    func.func @f_host(%w) attributes {dist.entry = "f", dist.placement = #dist.placement<host>} {
      dist.host_broadcast %w over @mesh ["data"] {...} : (tensor<8xf32>) -> ()
      %g = dist.host_reduce over @mesh ["data"] {...} : () -> tensor<8xf32>
      %w1 = graph.sub %w, %g ...
    ```
  }];
  let options = [
    Option<"bytesPerPack", "bytes-per-pack", "int64_t", "0",
      "A transfer of variables takes no more once it has more bytes than this; 0: one transfer">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}
#endif // PASSES_PARTITION_PASSES_TD
