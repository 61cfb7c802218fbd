//===- Passes.td - Passes that annotate with a strategy -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_STRATEGY_PASSES_TD
#define PASSES_STRATEGY_PASSES_TD
include "mlir/Pass/PassBase.td"

def CreateMeshPass : Pass<"dist-create-mesh", "::mlir::ModuleOp"> {
  let summary = "Adds the mesh that the strategies' passes annotate with";
  let description = [{
    After `dist-create-mesh{axes=data:2,model:2}`:
    ```mlir
    dist.mesh @mesh ["data"=2, "model"=2]
    ```
    After `dist-create-mesh{axes=host:2,data:4 processes=host:2}`:
    ```mlir
    dist.mesh @mesh ["host"=2, "data"=4] {processes = {host = 2 : i64}}
    ```
  }];
  let options = [
    ListOption<"axes", "axes", "std::string",
      "Mesh axes, major to minor, each NAME:SIZE">,
    ListOption<"processes", "processes", "std::string",
      "Into how many processes axes are cut, each NAME:NUMBER">,
    Option<"processLinkCost", "process-link-cost", "double", "1",
      "How many times dearer a byte is between processes than within one">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def ReplicatePass : Pass<"dist-replicate", "::mlir::ModuleOp"> {
  let summary = "Splits the batch over replicas and mirrors the variables";
  let description = [{
    Annotates: inputs, labels, masks and outputs are split along their batch dim
    over all `axes`; variables are copied to every rank along them, but ON_READ
    ones: those with SUM aggregation (metrics, gradient accumulators) are
    unreduced, those with MEAN (moving statistics) or ONLY_FIRST_REPLICA, one
    row a replica, are split along dim 0. Nothing else changes: the partitioner derives the
    communication. Axes with sizes make the mesh, too (with one rank in all the
    pass then does nothing); without, it is there, and variables and outputs
    stay open to its other axes.

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
      "Mesh axes of the replicas, major to minor, each NAME or NAME:SIZE">,
    Option<"strategy", "strategy", "std::string", "\"mirrored\"",
      "Name of the strategy, for the reasons shown to users">,
    Option<"parts", "parts", "int64_t", "0",
      "What the batch is a multiple of, where dist-split-portions will cut it by "
      "weight: their sum; 0: the replicas">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def TensorSplitPass : Pass<"dist-tensor-split", "::mlir::ModuleOp"> {
  let summary = "Splits variables along a dim, by rules or by the model's own patterns";
  let description = [{
    A rule `REGEX=DIM:AXIS` splits dim DIM of the variables whose whole names
    REGEX matches over mesh axis AXIS, and their slots with them. AXIS may be a
    part of one, as NAME:(PRE)SIZE: the mesh is then refined (see dist.mesh).
    Behind it @N is a priority: of rules whose splits meet, those of lower
    number (without one: 0) spread first. Without rules,
    `preset` looks for patterns: a variable split along a dim of its results
    (column), followed by ops that compute on parts (heads, gates, activations)
    down to contractions over that dim (row). `mlp`, `transformer` and `conv`
    take only such pairs (`conv` those with convolutions, `mlp` those without
    and without attention, `transformer` both of the latter); `auto` all of them;
    `vocab` splits the vocabulary: the last layers' weights along classes, and
    the tables that tokens are looked up in along their rows. Several, joined by
    commas, apply in order. Where `auto` finds no pair, and no other preset
    anything, it splits variables each by itself: along the dim that sends the fewest bytes for it, and where that
    is not more than is kept less on each rank (if nowhere, the one that comes
    nearest, with a warning); `dist.why` names both. Before `auto` looks, it takes what the model file
    itself says (`graph.shards` of a variable, from an ONNX device
    configuration: how many shards each dim has). What is not named stays open:
    a bias follows its weight. It is an error if nothing fits. A preset prefers
    dims that the axis divides; others are padded later (dist-pad-indivisible)
    unless half or more of the parts would be padding, which is an error of a
    rule. Heads of attention, between which padding would stand, are split over
    a part of the axis where they do not divide by all of it (6 heads over
    model:(1)2 of 4 ranks; the mesh is refined, see dist.mesh).

    Lookups along rows that are now split become `graph.gather_rows`, their
    gradients `graph.scatter_add_rows`, and softmaxes and losses over split
    classes the maxima and sums that they consist of: on parts each gives a
    partial sum of activations, and neither table nor logits are gathered.

    Before: `graph.variable @w : tensor<4x8xf32>`
    After, with `axis=model rules=w=1:model`: its sharding is
    `#dist.sharding<@mesh, [{?}, {"model"} ]>`.
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"model\"", "Mesh axis of presets">,
    ListOption<"rules", "rules", "std::string", "REGEX=DIM:AXIS[@PRIORITY], in order">,
    Option<"preset", "preset", "std::string", "\"auto\"",
      "auto, mlp, transformer, conv or vocab, or several, without rules">,
    Option<"strictDivisibility", "strict-divisibility", "bool", "false",
      "A dim that the axis does not divide is an error, not padded">,
    Option<"wholeAxes", "whole-axes", "bool", "false",
      "Heads that the axis does not divide stay whole">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def SequenceParallelPass : Pass<"dist-sequence-parallel", "::mlir::ModuleOp"> {
  let summary = "Norms and residual sums on parts of the tokens, between layers split over an axis";
  let description = [{
    Behind dist-tensor-split and dist-propagate-sharding (`close=false`). Between
    a contraction over a split dim, whose result is a partial sum over `axis`,
    and the next with a weight split the other way, each rank would do the same
    work. The partial sums (added up where they only meet one another) are asked
    for in parts along the sequence, what the next contractions take is asked for
    whole; propagation splits what is between: norms, residual sums, biases,
    dropout. An all_reduce so becomes a reduce_scatter and an all_gather of the
    same bytes together, and activations between them are as many times smaller
    as the axis has ranks. Gradients of norms' parameters become partial sums
    over `axis`; so do those of an embedding or a head that nothing splits (the
    preset `vocab` does), which may be more bytes than the activations. Both
    passes' contractions are treated alike. Where the axis divides the batch but
    not the sequence, or some values have both in one dim, it is the batch that
    is split further; where it divides neither, what takes less padding. It is
    an error if there is no norm between split contractions, or half of either
    dim would be padding.

    Before: `%1 = graph.dot_general %h, %down`, over a dim split over "model"
    After:
    ```mlir
    %2 = dist.reshard %1 to <@mesh, [{}, {"model"}, {} ]> because "..." : tensor<8x64x16xf32>
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"model\"", "Mesh axis of the split weights">,
    Option<"strictDivisibility", "strict-divisibility", "bool", "false",
      "A dim that the axis does not divide is an error, not padded">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def ShardOptimizerPass : Pass<"dist-shard-optimizer", "::mlir::ModuleOp"> {
  let summary = "ZeRO: optimizer state, gradients, variables in shards";
  let description = [{
    For each trainable variable the first dim that `axis` divides is split, else
    the one that needs the least padding, unless that is half of it or more:
    of its slots (stage 1), of gradient accumulators (stage 2), of
    the variable itself (stage 3). The gradient is asked for in shards where it
    enters the update, so that the update works on one shard a rank; at stage 3
    the variable is gathered anew before each op that computes with it, unless
    only others of no more than half its size were gathered since. On a
    module that no strategy has annotated, the batch is split over `axis` as
    dist-replicate does.

    Before: `%m1 = graph.add %m0, %g : tensor<4x8xf32>`, the new value of a slot
    After, with `stage=1`:
    ```mlir
    %0 = dist.reshard %g to <@mesh, [{}, {"data"} ]> because "..." : tensor<4x8xf32>
    %m1 = graph.add %m0, %0 : tensor<4x8xf32>
    ```
  }];
  let options = [
    Option<"stage", "stage", "int64_t", "1", "1, 2 or 3">,
    Option<"axis", "axis", "std::string", "\"data\"", "Mesh axis of the shards">,
    Option<"strictDivisibility", "strict-divisibility", "bool", "false",
      "Variables without a dim that the axis divides stay whole, not padded">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}
def PipelineStagesPass : Pass<"dist-pipeline-stages", "::mlir::ModuleOp"> {
  let summary = "Gives each variable the stage of the pipeline that has it";
  let description = [{
    The forward ops of the training step (else of prediction) are cut before
    ops with parameters into `stages` x `chunks` runs, so that the slowest of
    them, with its part of the backward pass and of the update, and with what it
    receives, is as fast as can be: a dynamic program over the ops' predicted
    times. Of cuts that are nearly as fast, the one over which the fewest bytes
    go. Biases and norms stay with their products where there are enough other
    places. Variables get
    `dist.stage`: slots that of their parameter, metrics and statistics that of
    the op that computes them; scalars like the step counter none, every stage
    keeps its own. The stages of ops follow from them (dist-split-stages). With
    several chunks a stage, chunk c belongs to stage c modulo `stages`.

    Before: `graph.variable @fc2 : tensor<32x10xf32> trainable = ...`
    After: `graph.variable @fc2 : tensor<32x10xf32> trainable {dist.stage = 1 : i64} = ...`
  }];
  let options = [
    Option<"stages", "stages", "int64_t", "2", "Stages of the pipeline">,
    Option<"chunks", "chunks", "int64_t", "1", "Chunks of the model a stage has">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}
def PlaceHostVariablesPass : Pass<"dist-place-host-variables", "::mlir::ModuleOp"> {
  let summary = "Places variables on the host, one copy of each";
  let description = [{
    Variables that are written alike on all replicas (ON_WRITE: parameters,
    optimizer slots, counters) get `dist.placement`, and so do gradients'
    updates: dist-split-host makes the programs of devices and host from it.
    ON_READ ones, of which each replica has its own (metrics, gradient
    accumulators, moving statistics of a replica), stay where they are. It is an
    error if a strategy has split a variable: the host has all of it.

    Before: `graph.variable @w : tensor<4xf32> trainable = ...`
    After: `graph.variable @w : tensor<4xf32> trainable {dist.placement = #dist.placement<host>} = ...`
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}
def PlaceServerVariablesPass : Pass<"dist-place-server-variables", "::mlir::ModuleOp"> {
  let summary = "Gives each variable that a step updates to parameter servers";
  let description = [{
    Of a module with @apply, as `graph-apply-optimizer{separate
    independent-updates}` makes it: variables that it updates get
    `dist.server_parts`, one server after the other in their order. With a
    `partitioner` variables are cut along dim 0 first, and their parts take
    turns. As tf.distribute has them: `fixed=K` cuts each into K; `min-size=BYTES`
    into as many as have that size, at most a server each; `max-size=BYTES` into
    as few as have no more; both take `:max=N`. No part is without a row; where
    rows do not divide, the first parts have one more (13 in 5: 3, 3, 3, 2, 2).
    Scalars stay whole, and variables whose update is not row by row (lamb's
    norms): `dist.why` says so. It is an error if a server gets nothing, if
    @gradients gives new values (but of metrics and counters) that @apply does
    not take, or if each of a worker's devices has a value of its own.

    Before: `graph.variable @w : tensor<13x4xf32> trainable = ...`
    After, with `servers=2 partitioner=fixed=2`:
    ```mlir
    graph.variable @w : tensor<13x4xf32> trainable {dist.server_parts = [
        {begin = 0 : i64, server = 0 : i64, size = 7 : i64},
        {begin = 7 : i64, server = 1 : i64, size = 6 : i64} ]} = ...
    ```
  }];
  let options = [
    Option<"servers", "servers", "int64_t", "1", "Parameter servers">,
    Option<"partitioner", "partitioner", "std::string", "\"\"",
      "fixed=K, min-size=BYTES[:max=N] or max-size=BYTES[:max=N]; empty: variables are whole">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}
#endif // PASSES_STRATEGY_PASSES_TD
