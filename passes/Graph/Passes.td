//===- Passes.td - From a model to a training program -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_GRAPH_PASSES_TD
#define PASSES_GRAPH_PASSES_TD
include "mlir/Pass/PassBase.td"

def NumberDropoutsPass : Pass<"graph-number-dropouts", "::mlir::ModuleOp"> {
  let summary = "Gives each dropout a stream of random numbers of its own";
  let description = [{
    Two dropouts of one tensor are two masks in training (multi-sample dropout,
    two passes with shared weights): as equal ops they would become one. Those
    that have a stream keep it. A rate of 0 draws nothing and gets none. Run it
    before anything that makes equal ops one.

    Before:
    ```mlir
    %1 = graph.dropout %0 {rate = 5.0e-1 : f64} : tensor<8x6xf32>
    %2 = graph.dropout %0 {rate = 5.0e-1 : f64} : tensor<8x6xf32>
    ```
    After:
    ```mlir
    %1 = graph.dropout %0 {graph.stream = 0 : i64, rate = 5.0e-1 : f64} : tensor<8x6xf32>
    %2 = graph.dropout %0 {graph.stream = 1 : i64, rate = 5.0e-1 : f64} : tensor<8x6xf32>
    ```
  }];
}

def FoldPass : Pass<"graph-fold", "::mlir::ModuleOp"> {
  let summary = "Evaluates what depends on constants alone, and canonicalizes";
  let description = [{
    An op whose operands are all constants is replaced by its value, if that has
    at most `max-elements` elements or is one number repeated. Broadcasts of
    more than one number stay: the kernels repeat elements for free. A dropout
    stays, too: its value is the operand in prediction alone.

    Before:
    ```mlir
    %0 = graph.constant dense<2.0> : tensor<f32>
    %1 = graph.exp %0 : tensor<f32>
    ```
    After:
    ```mlir
    %0 = graph.constant dense<7.3890562> : tensor<f32>
    ```
  }];
  let options = [
    Option<"maxElements", "max-elements", "int64_t", "65536",
      "Largest result to evaluate">,
  ];
}

def KeepDimsPass : Pass<"graph-keep-dims", "::mlir::ModuleOp"> {
  let summary = "Keeps dims apart that are merged for layers and parted behind them";
  let description = [{
    Exporters merge a sequence's and the batch's dim before a dense layer and part
    them behind it, as PyTorch's attention does. Of a merged dim only the first
    part can be split: with the batch behind it each rank would gather the others'
    examples, and compute the layer of all of them. Between such reshapes may be
    products whose other operand has no part in the rows, batch norms, which are
    then seen to have examples in their first dim, and what is elementwise with one
    operand of rows and others that are equal for all of them. Run it on the
    forward graph, after graph-fold.

    Before:
    ```mlir
    %1 = graph.reshape %0 : (tensor<5x6x12xf32>) -> tensor<30x12xf32>
    %2 = graph.dot_general %1, %w {lhs_contract = array<i64: 1>, ...}
    %3 = graph.broadcast %b {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<30x8xf32>
    %4 = graph.add %2, %3 : tensor<30x8xf32>
    %5 = graph.reshape %4 : (tensor<30x8xf32>) -> tensor<5x6x8xf32>
    ```
    After:
    ```mlir
    %2 = graph.dot_general %0, %w {lhs_contract = array<i64: 2>, ...}
    %3 = graph.broadcast %b {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<5x6x8xf32>
    %5 = graph.add %2, %3 : tensor<5x6x8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::dist::graph::GraphDialect"];
}

def ChannelsLastPass : Pass<"graph-channels-last", "::mlir::ModuleOp"> {
  let summary = "Gives convolutions, pools and what lies between them channels-last activations";
  let description = [{
    Convolutions with activations in NC0.. order get N0..C, and so do the
    element-wise ops, pools, normalizations, pads and concatenations that follow
    them; a transpose stays only where another order comes in or is asked for,
    and is a reshape where it moves nothing (one channel, or one pixel). Filters
    keep the model's layout. Run it on the forward graph: derivatives inherit
    the layout.

    Before:
    ```mlir
    %1 = graph.conv %0, %w {input_layout = "NC01", output_layout = "NC01", ...}
    %2 = graph.relu %1 : tensor<8x32x26x26xf32>
    ```
    After:
    ```mlir
    %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 3, 1>}
    %2 = graph.conv %1, %w {input_layout = "N01C", output_layout = "N01C", ...}
    %3 = graph.relu %2 : tensor<8x26x26x32xf32>
    ```
  }];
  let dependentDialects = ["::mlir::dist::graph::GraphDialect"];
}

def IndexInputsPass : Pass<"graph-index-inputs", "::mlir::ModuleOp"> {
  let summary = "Says of inputs that index a dim how many elements that has";
  let description = [{
    Compiled kernels clamp indices that are out of range, so what runs them is
    told which are: every integer of an input that reaches the indices of an op
    as it is. Of several dims the smallest counts; of coordinates (gather_nd)
    each has its own, in turn. Before other entries are made from @predict, so
    that they inherit it.

    Before:
    ```mlir
    func.func @predict(%ids: tensor<2x6xi64> {graph.role = "input"}, ...) {
      %0 = graph.gather %table, %ids {axis = 0 : i64} : (tensor<8x16xf32>, ...
    ```
    After:
    ```mlir
    func.func @predict(%ids: tensor<2x6xi64> {graph.index_count = array<i64: 8>,
                                              graph.role = "input"}, ...) {
    ```
  }];
}

def TrainingModePass : Pass<"graph-training-mode", "::mlir::ModuleOp"> {
  let summary = "Clones @predict to the forward part of @train_step";
  let description = [{
    In the clone, `batch_norm_inference` whose statistics are variables becomes
    `batch_norm`, which normalizes by the batch and moves the variables:
    `new = old * momentum + statistic * (1 - momentum)` with the biased variance
    (keras/src/layers/normalization/batch_normalization.py, `call`). `dropout`
    drops with its rate and scales what stays by 1/(1-rate), drawing from a
    counter: variable `random/step` (keras/src/layers/regularization/dropout.py).
    What an example drops depends on its number in the batch: in a partial step
    copies stand between the examples, of which `count` and `weights` tell how
    many come before each part. So does what an example draws of a
    `random_uniform` of the model's own, if that is combined with examples; of
    such a model @eval_step and @eval_step_partial are cloned here, too.

    With `groups` = R > 1 (and without `sync-batch-norm`) every replica keeps its
    own statistics: the variables become ON_READ + MEAN with one row a replica,
    and the other entries read the mean over the rows. In a partial step each
    row moves by 1 - momentum times the replica's examples over the replicas'
    mean, so that the mean weights the statistics by their examples; a replica
    without examples keeps its row.

    With `partial`, also clones @train_step_partial with arguments `mask` and
    `count` for batches of fewer examples than rows.

    Before:
    ```mlir
    func.func @predict(%x) { ... graph.batch_norm_inference ... }
    ```
    After:
    ```mlir
    func.func @predict(%x) { ... graph.batch_norm_inference ... }
    func.func @train_step(%x) { ... graph.batch_norm ... graph.assign @mean ... }
    ```
  }];
  let options = [
    Option<"groups", "groups", "int64_t", "1", "Replicas that keep batch statistics of their own">,
    Option<"syncBatchNorm", "sync-batch-norm", "bool", "false",
      "One group over all replicas, whatever `groups` says">,
    Option<"partial", "partial", "bool", "false", "Also make @train_step_partial">,
    Option<"seed", "seed", "int64_t", "0", "Seed of dropout">,
    ListOption<"weights", "weights", "int64_t", "Portions of a batch: of the parts that are filled up with copies; default: one part">,
  ];
  let dependentDialects = ["::mlir::dist::graph::GraphDialect"];
}

def AddLossPass : Pass<"graph-add-loss", "::mlir::ModuleOp"> {
  let summary = "Adds label, loss and metrics to the training step, and makes @eval_step";
  let description = [{
    Replaces the outputs of @train_step (and @train_step_partial) by the loss
    and clones @predict to @eval_step (and, when there is a partial training
    step or `partial` is set, @eval_step_partial). The loss is the sum of the
    examples' losses over the number of examples: the batch size in a full
    entry, the argument `count` in a partial one, where `mask` leaves the padded
    rows out. Where that cannot be (an op combines the examples of a batch, or
    an output holds their products with each other; a value depends on a row's
    place, which `weights` move; the loss is one number for all) there is no
    partial entry, and `graph.full_batches` on the module says why. Losses and metrics, with Keras' formulas: see TrainingTables.h.

    An output that comes out of a softmax (cross-entropies) or a sigmoid (binary
    cross-entropy) is not computed for the loss: it starts from the logits
    (`from-logits=auto`). An output that comes out of neither is taken for
    logits; `from-logits=false` takes the output for probabilities in any case.

    Each example's loss may have a factor: by its class (`class-weights`, in
    training only) or its own (`sample-weights`, an argument of role "label").
    The sum is over the number of examples all the same, not over the sum of
    factors, so that parts of a batch add up. Metrics have no factors.

    With several losses, each of an output, the loss is their sum, weighted by
    `loss-weights`; each has an argument `label/OUTPUT` and a metric
    `OUTPUT_loss`, and metrics are of an output, too: `OUTPUT=METRIC`.

    Metrics are variables: `metric/NAME/total` (ON_READ + SUM: every replica adds
    its part) and `metric/NAME/count`, NAME being `loss` or a metric.

    Before:
    ```mlir
    func.func @train_step(%x) -> (tensor<8x10xf32> {graph.role = "output"})
    ```
    After `graph-add-loss{loss=sparse-categorical-crossentropy}`:
    ```mlir
    func.func @train_step(%x, %label: tensor<8xi32> {graph.role = "label"})
        -> (tensor<f32> {graph.role = "loss"})
    ```
  }];
  let options = [
    ListOption<"losses", "loss", "std::string", "Name of the loss, or `none`: an output is the loss; of several OUTPUT=NAME each">,
    ListOption<"lossWeights", "loss-weights", "std::string", "OUTPUT=NUMBER: factors in the sum of several losses">,
    ListOption<"classWeights", "class-weights", "std::string", "CLASS=WEIGHT: factors of training examples' losses by their labels">,
    Option<"sampleWeights", "sample-weights", "std::string", "\"\"", "Name of an argument with the factors of the examples' losses">,
    Option<"fromLogits", "from-logits", "std::string", "\"auto\"", "auto, true or false">,
    Option<"lossOutput", "loss-output", "std::string", "\"\"", "Output that the loss reads; default: the first">,
    ListOption<"metrics", "metrics", "std::string", "Metrics, as NAME or NAME:key=value">,
    Option<"partial", "partial", "bool", "false", "Also make partial entries">,
    ListOption<"weights", "weights", "int64_t", "Portions of a batch: of the parts that are filled up with copies; default: one part">,
  ];
  let dependentDialects = ["::mlir::dist::graph::GraphDialect"];
}

def FunctionalizeStatePass : Pass<"graph-functionalize-state", "::mlir::ModuleOp"> {
  let summary = "Turns reads and assignments of variables into arguments and results";
  let description = [{
    Every function becomes pure: variables that it reads are arguments (after
    the others, in the module's order), variables that it assigns are results.
    Both carry `graph.role = "variable"` and `graph.variable`.

    Before:
    ```mlir
    func.func @f() {
      %0 = graph.read @w : tensor<4xf32>
      %1 = graph.neg %0 : tensor<4xf32>
      graph.assign @w, %1 : tensor<4xf32>
      return
    }
    ```
    After:
    ```mlir
    func.func @f(%0: tensor<4xf32> {graph.role = "variable", graph.variable = @w})
        -> (tensor<4xf32> {graph.role = "variable", graph.variable = @w}) {
      %1 = graph.neg %0 : tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    ```
  }];
}

def DifferentiatePass : Pass<"graph-differentiate", "::mlir::ModuleOp"> {
  let summary = "Appends the gradient of the loss by every trainable variable";
  let description = [{
    Reverse mode: in the entries named by `entries`, from the result of role
    "loss" backwards over DifferentiableOpInterface. Only what leads from a
    trainable variable to the loss is differentiated; values used more than once
    get the sum of their cotangents. Gradients are appended as results of role
    "gradient"; those by the inputs that `inputs` names come last, and have no
    `graph.variable`. It is an error if an op on the way has no derivative.

    Before:
    ```mlir
    func.func @train_step(%w: tensor<4xf32> {graph.role = "variable", graph.variable = @w})
        -> (tensor<f32> {graph.role = "loss"})
    ```
    After:
    ```mlir
    func.func @train_step(%w: tensor<4xf32> {graph.role = "variable", graph.variable = @w})
        -> (tensor<f32> {graph.role = "loss"},
            tensor<4xf32> {graph.role = "gradient", graph.variable = @w})
    ```
  }];
  let options = [
    ListOption<"entries", "entries", "std::string",
      "Functions to differentiate; default: train_step, train_step_partial">,
    ListOption<"inputs", "inputs", "std::string",
      "Inputs by which the loss is differentiated, too">,
    Option<"lossScale", "loss-scale", "bool", "false",
      "Gradients are multiplied by the variable 'loss-scale/value'">,
    Option<"markCotangents", "mark-cotangents", "bool", "false",
      "Cotangents get the attribute `graph.cotangent`, by which graph-recompute knows the backward pass">,
  ];
  let dependentDialects = ["::mlir::dist::graph::GraphDialect"];
}

def JoinPiecesPass : Pass<"graph-join-pieces", "::mlir::ModuleOp"> {
  let summary = "Puts the pieces side by side that a sum adds between zeros";
  let description = [{
    A value that is read in slices, as the steps of a sequence read it, has a sum
    of padded pieces as its gradient. Where at least `least-pieces` of a sum's
    terms are pieces along one dim that do not overlap, they become one
    concatenation, with zeros where there is none; what else the sum adds is
    added to it. Few pieces stay: their sum is one kernel that reads each.

    Before:
    ```mlir
    %0 = graph.pad %a, %zero {low = array<i64: 0, 0>, high = array<i64: 2, 0>, ...}
    %1 = graph.pad %b, %zero {low = array<i64: 1, 0>, high = array<i64: 1, 0>, ...}
    %2 = graph.pad %c, %zero {low = array<i64: 2, 0>, high = array<i64: 0, 0>, ...}
    %3 = graph.add %0, %1
    %4 = graph.add %3, %2
    ```
    After:
    ```mlir
    %4 = graph.concat %a, %b, %c {axis = 0 : i64}
    ```
  }];
  let options = [
    Option<"leastPieces", "least-pieces", "int64_t", "8",
      "Pieces of a sum from which on they are joined">,
  ];
  let dependentDialects = ["::mlir::dist::graph::GraphDialect"];
}

def ApplyOptimizerPass : Pass<"graph-apply-optimizer", "::mlir::ModuleOp"> {
  let summary = "Turns gradients into updates of the variables";
  let description = [{
    Replaces the gradients of @train_step (and @train_step_partial) by the new
    variables and optimizer slots, with Keras' formulas and defaults (see
    TrainingTables.h), and adds results `learning_rate` and `finite`. The order
    is: accumulate, finite check, clip, weight decay, update; gradients are
    all-reduced before the finite check, since that is their first non-linear use.

    `finite` says whether the step is: the loss and every element of every
    gradient (divided by the loss scale, before clipping) are neither NaN nor
    infinite; large gradients, whose squares overflow, are finite. With
    `on-nonfinite=stop` each update looks at the gradient that it reads, which
    takes no pass of its own, and the host ends the run after the step. With
    `skip`, and with a loss scale, all updates wait for the answer, and a step
    that is not finite leaves all variables alone. With `continue` and without a
    loss scale nothing looks: there is no result `finite`. With accumulation a
    batch is finite by its loss, an update by the sum of the gradients.

    With `accumulate` = K > 1 the step is split in entries: @gradients (and
    @gradients_partial) add to ON_READ + SUM accumulators, so that they need no
    communication; @apply updates by their sum / K and clears them, as in
    keras/src/optimizers/base_optimizer.py.

    With `separate` the step's two halves are entries, too, for loops that do
    something in between: @gradients (and @gradients_partial) is the step up to
    its update, and gives the gradients, divided by the loss scale, as results of
    role "gradient" with their variables' names; @apply takes such as arguments,
    and updates. The one after the other does what @train_step does.

    With `independent-updates`, for processes that each hold some of the
    variables, @apply updates every variable by its own gradient alone: what
    takes all gradients together, the finite check and clipping, is in
    @gradients. Who runs them leaves out the updates by gradients that
    @gradients says are not finite. What the forward pass assigns (moving
    statistics, not metrics and counters) @apply takes among the gradients, as
    its new value.

    With `settable-lr` the optimizer's lr, from which the schedule computes the
    rate, is the variable `optimizer/learning_rate` (f32, lr at the start): no
    step changes it, but the host may between two of them, and checkpoints keep
    it.

    Before:
    ```mlir
    func.func @train_step(...) -> (tensor<f32> {graph.role = "loss"},
        tensor<4xf32> {graph.role = "gradient", graph.variable = @w})
    ```
    After `graph-apply-optimizer{optimizer=sgd:lr=0.1}`:
    ```mlir
    func.func @train_step(...) -> (tensor<f32> {graph.role = "loss"},
        tensor<f32> {graph.role = "learning_rate"}, tensor<i1> {graph.role = "finite"},
        tensor<4xf32> {graph.role = "variable", graph.variable = @w},
        tensor<i64> {graph.role = "variable", graph.variable = @"optimizer/iteration"})
    ```
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"sgd\"", "NAME or NAME:key=value,...">,
    Option<"lrSchedule", "lr-schedule", "std::string", "\"constant\"", "NAME or NAME:key=value,...">,
    Option<"settableLr", "settable-lr", "bool", "false",
      "The optimizer's lr is a variable that the host may set">,
    Option<"clipNorm", "clip-norm", "double", "0", "Largest global norm of the gradients; 0: any">,
    Option<"clipValue", "clip-value", "double", "0", "Largest magnitude of a gradient's element; 0: any">,
    Option<"weightDecay", "weight-decay", "double", "-1",
      "Decoupled weight decay; negative: the optimizer's own">,
    Option<"accumulate", "accumulate", "int64_t", "1", "Batches an update">,
    Option<"separate", "separate", "bool", "false",
      "Also make @gradients and @apply, which give and take gradients">,
    Option<"independentUpdates", "independent-updates", "bool", "false",
      "With separate: @gradients checks and clips, @apply takes each variable by itself">,
    Option<"lossScale", "loss-scale", "bool", "false",
      "Gradients are divided by the dynamic loss scale, which follows overflows">,
    Option<"onNonfinite", "on-nonfinite", "std::string", "\"stop\"",
      "continue, skip or stop; the host loop stops or continues by the result `finite`">,
  ];
  let dependentDialects = ["::mlir::dist::graph::GraphDialect"];
}

def SelectEntriesPass : Pass<"graph-select-entries", "::mlir::ModuleOp"> {
  let summary = "Leaves the entries that are asked for";
  let description = [{
    `entries` are `train` (@train_step; with accumulation @gradients and @apply),
    `evaluate` (@eval_step), `predict`, `gradients` and `apply`, each with its
    partial one. It is an error if the module has none of one. What the optimizer
    and the metrics keep for entries that go (slots, counters, sums) goes, too.
    From here on nothing is differentiated: a `graph.stop_gradient` is its operand.

    Before:
    ```mlir
    func.func @predict(...)
    func.func @train_step(...)
    func.func @train_step_partial(...)
    func.func @eval_step(...)
    ```
    After `graph-select-entries{entries=train}`:
    ```mlir
    func.func @train_step(...)
    func.func @train_step_partial(...)
    ```
  }];
  let options = [
    ListOption<"entries", "entries", "std::string",
      "train, evaluate, predict, gradients, apply; none: all stay">,
  ];
}

def DecomposeCompositesPass : Pass<"graph-decompose-composites", "::mlir::ModuleOp"> {
  let summary = "Replaces composites (softmax, layer_norm, ...) by primitive ops";
  let description = [{
    Calls DecomposableOpInterface on every composite, or on those that `only`
    names, until none is left, and removes what is dead.

    Before:
    ```mlir
    %1 = graph.softmax %0 {axis = 1 : i64} : tensor<8x10xf32>
    ```
    After:
    ```mlir
    %1 = graph.reduce max, %0 {dims = array<i64: 1>} : (tensor<8x10xf32>) -> tensor<8xf32>
    ...
    ```
  }];
  let options = [
    ListOption<"only", "only", "std::string", "Mnemonics to decompose; default: all">,
  ];
  let dependentDialects = ["::mlir::dist::graph::GraphDialect"];
}

def MixedPrecisionPass : Pass<"graph-mixed-precision", "::mlir::ModuleOp"> {
  let summary = "Computes contractions in bf16 or f16; variables and sums stay f32";
  let description = [{
    Before differentiation, so that the backward pass follows. Contractions
    (products that are summed) take their operands in `precision`, and ops that
    only carry such values on (bias, reshape, residual sums) stay in it; norms,
    softmax, scans, losses and other sums are in f32, and so is what adds up the
    cotangents of an element that is looked up more than once, as are variables,
    to which gradients come back in f32.

    Before: `%0 = graph.dot_general %x, %w : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>`
    After, with `precision=bf16`:
    ```mlir
    %1 = graph.convert %x : (tensor<2x4xf32>) -> tensor<2x4xbf16>
    %2 = graph.convert %w : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %3 = graph.dot_general %1, %2 : (tensor<2x4xbf16>, tensor<4x8xbf16>) -> tensor<2x8xbf16>
    %0 = graph.convert %3 : (tensor<2x8xbf16>) -> tensor<2x8xf32>
    ```
  }];
  let options = [
    Option<"precision", "precision", "std::string", "\"bf16\"", "bf16 or f16">,
  ];
}

def RecomputePass : Pass<"graph-recompute", "::mlir::ModuleOp"> {
  let summary = "Computes activations again in the backward pass instead of keeping them";
  let description = [{
    Of entries that `graph-differentiate{mark-cotangents}` has differentiated.
    With `ops` = REGEX, the forward ops whose locations' names match are
    repeated for their readers in the backward pass, from the values at the
    region's boundary. With `auto` a minimum cut between the two passes chooses:
    without `memory-limit` only what is cheap (never contractions and
    convolutions), and only if the peak falls; with one, nothing where it is met,
    else what meets it with the fewest FLOPs, contractions included.

    Copies read the kept values through `graph.after`, which holds them back
    until the cotangent is there that their reader waits for. Collectives are
    never repeated; random numbers are functions of a counter, so a dropout drops
    the same again; moving averages read the original ops. Run it on the
    partitioned program: bytes and transfers are those of a device then. Copies
    have the attribute `graph.recomputed`.

    Before:
    ```mlir
    %1 = graph.exp %0 : tensor<8xf32>
    %2 = graph.sin %1 : tensor<8xf32>
    ...
    %5 = graph.mul %4, %1 : tensor<8xf32>
    ```
    After:
    ```mlir
    %1 = graph.exp %0 : tensor<8xf32>
    %2 = graph.sin %1 : tensor<8xf32>
    ...
    %5 = graph.after %0, %4 : tensor<8xf32>, tensor<8xf32>
    %6 = graph.exp %5 {graph.recomputed} : tensor<8xf32>
    %7 = graph.mul %4, %6 : tensor<8xf32>
    ```
  }];
  let options = [
    Option<"ops", "ops", "std::string", "\"auto\"", "auto, or a regular expression of ops' names">,
    Option<"memoryLimit", "memory-limit", "int64_t", "0", "Bytes that a device may need; 0: any">,
  ];
  let dependentDialects = ["::mlir::dist::graph::GraphDialect"];
}
#endif // PASSES_GRAPH_PASSES_TD
