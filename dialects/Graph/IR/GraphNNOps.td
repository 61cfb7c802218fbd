//===- GraphNNOps.td - Pools and composites -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHNNOPS_TD
#define DIALECTS_GRAPH_IR_GRAPHNNOPS_TD
include "dialects/Graph/IR/GraphBase.td"

// Costs more than an operation an element.
class Graph_PoolOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat(traits,
        [DeclareOpInterfaceMethods<CostOpInterface, ["getCost"]>])>;

// Composites are decomposed before code is generated, so they have none.
class Graph_CompositeOp<string mnemonic, list<Trait> traits,
                        list<string> decomposition = []>
    : Graph_Op<mnemonic, !listconcat(traits,
        [DeclareOpInterfaceMethods<CostOpInterface, ["getCost"]>]),
        [DeclareOpInterfaceMethods<DecomposableOpInterface, decomposition>]>;

// A window is given over all dims of the tensor (size 1 where it does not
// reach), so that pools need no layouts. Constraints of all pools: (C1) the
// lists have one entry a dim; window, strides and dilations >= 1, pads >= 0.
// (C2) the padded operand is at least as large as the dilated window. Of the
// gradients: (C3) `grad` has the shape that the pool of the result's type gives.
defvar Graph_WindowArgs = (ins DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
  DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high);

def Graph_MaxPoolOp : Graph_PoolOp<"max_pool", [InferTypeOpAdaptor, Graph_MovesChannels]> {
  let summary = "largest element of each window, and its row-major position within the window as i32 (the first of equals); padding is never chosen";
  let description = [{
    The first NaN wins. A window that holds nothing but padding gives the lowest
    value and position 0.
  }];
  let arguments = !con((ins Graph_Tensor:$operand), Graph_WindowArgs);
  let results = (outs Graph_Tensor:$result, Graph_IntTensor:$indices);
  let assemblyFormat = "$operand attr-dict `:` functional-type($operand, results)";
}
def Graph_MaxPoolGradOp : Graph_PoolOp<"max_pool_grad", [DeclareOpInterfaceMethods<IndexingOpInterface>]> {
  let summary = "cotangent of max_pool's operand from that of its result and its indices";
  let description = [{ Constraints: (C4) `indices` are i32 of grad's shape. }];
  let arguments = !con((ins Graph_FloatTensor:$grad, Graph_IntTensor:$indices), Graph_WindowArgs);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$grad `,` $indices attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def Graph_AvgPoolOp : Graph_PoolOp<"avg_pool", [InferTypeOpAdaptor, Graph_MovesChannels]> {
  let summary = "mean of each window; the padding counts (as zeros) only if `count_include_pad`";
  let arguments = !con((ins Graph_FloatTensor:$operand), Graph_WindowArgs, (ins BoolAttr:$count_include_pad));
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type($operand, $result)";
}
def Graph_AvgPoolGradOp : Graph_PoolOp<"avg_pool_grad"> {
  let summary = "cotangent of avg_pool's operand";
  let arguments = !con((ins Graph_FloatTensor:$grad), Graph_WindowArgs, (ins BoolAttr:$count_include_pad));
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$grad attr-dict `:` functional-type($grad, $result)";
  let hasVerifier = 1;
}

def Graph_SoftmaxOp : Graph_CompositeOp<"softmax", [SameOperandsAndResultType, Graph_MovesChannels],
                                         ["getDimTakenInParts"]> {
  let summary = "exp(x - max) / sum over `axis`";
  let description = [{ Constraints: (C1) `axis` is a dim of the operand. }];
  let arguments = (ins Graph_FloatTensor:$operand, I64Attr:$axis);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Graph_LogSoftmaxOp : Graph_CompositeOp<"log_softmax", [SameOperandsAndResultType, Graph_MovesChannels],
                                            ["getDimTakenInParts"]> {
  let summary = "x - max - log(sum(exp(x - max))) over `axis`";
  let description = [{ Constraints: (C1) `axis` is a dim of the operand. }];
  let arguments = (ins Graph_FloatTensor:$operand, I64Attr:$axis);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Graph_LayerNormOp : Graph_CompositeOp<"layer_norm", [InferTypeOpAdaptor]> {
  let summary = "(x - mean) / sqrt(var + epsilon) * scale + bias, over the dims from `axis` on; also mean and 1/sqrt(var + epsilon)";
  let description = [{
    scale and bias have the shape of the normalized dims; the statistics have
    the dims before `axis`, in f32 (f64 for f64). The variance is biased.
    Constraints: (C1) `axis` is a dim of the operand. (C2) scale and bias have
    the shape of the normalized dims.
  }];
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$scale,
    Graph_FloatTensor:$bias, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$result, Graph_FloatTensor:$mean, Graph_FloatTensor:$inv_std);
  let assemblyFormat = "$operand `,` $scale `,` $bias attr-dict `:` functional-type(operands, results)";
}
def Graph_BatchNormOp : Graph_CompositeOp<"batch_norm", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["partition"]>]> {
  let summary = "training batch normalization with `groups` groups of examples, each with its own statistics";
  let description = [{
    The operand's dim 0 is the batch: group g holds examples g*B/groups to
    (g+1)*B/groups - 1 and is normalized by its own mean and biased variance
    over the batch and all dims but `axis`. `mask` (i1, [B]), if present, tells
    which examples count; a group in which none counts gives mean 0 and variance
    0, and its outputs are finite. Results: y; mean and variance [groups, C]; and
    count, the number of elements (not examples) behind each group's statistics
    [groups], all f32 (f64 for f64). Constraints: (C1) `axis` is a dim of the
    operand, not 0. (C2) scale and bias have one element a channel. (C3) groups
    divides the batch. (C4) the mask has one element an example.
  }];
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$scale, Graph_FloatTensor:$bias,
    Optional<Graph_BoolTensor>:$mask, I64Attr:$axis, F64Attr:$epsilon, I64Attr:$groups);
  let results = (outs Graph_FloatTensor:$result, Graph_FloatTensor:$mean, Graph_FloatTensor:$variance, Graph_FloatTensor:$count);
  let assemblyFormat = "$operand `,` $scale `,` $bias (`,` `mask` $mask^)? attr-dict `:` functional-type(operands, results)";
}
def Graph_BatchNormInferenceOp : Graph_CompositeOp<"batch_norm_inference", [InferTypeOpAdaptor, Graph_MovesChannels]> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias with given statistics, along channel dim `axis`";
  let description = [{
    `momentum` (the share of the old moving average kept) is not used here;
    graph-training-mode reads it. Constraints: (C1) `axis` is a dim of the
    operand. (C2) scale, bias, mean and variance have one element a channel.
  }];
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$scale, Graph_FloatTensor:$bias,
    Graph_FloatTensor:$mean, Graph_FloatTensor:$variance, I64Attr:$axis, F64Attr:$epsilon,
    DefaultValuedAttr<F64Attr, "0.9">:$momentum);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $scale `,` $bias `,` $mean `,` $variance attr-dict `:` functional-type(operands, $result)";
}
def Graph_CrossEntropyOp : Graph_CompositeOp<"cross_entropy", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<IndexingOpInterface>], ["getDimTakenInParts"]> {
  let summary = "-log(softmax(logits))[label] over the last dim: one f32 (f64 for f64) loss a label";
  let description = [{
    Labels are integers of shape logits[:-1]. A label out of [0, C) gives NaN
    and, where the host checks labels, a run-time error. Constraints: (C1)
    logits have at least one dim. (C2) labels have the shape of logits but the
    last dim.
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IntTensor:$labels);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $labels attr-dict `:` functional-type(operands, $result)";
}
def Graph_RandomUniformOp : Graph_Op<"random_uniform"> {
  let summary = "uniform f32 in [0, 1) from a counter: element e = hash(seed, step, e) with e the global row-major position";
  let description = [{
    No state but `step` (an i64 scalar tensor): the same step gives the same
    numbers on any number of ranks. The hash stands in GraphRandom.cpp.
    With `rows`, e is the position in the row-major tensor that has `dim` first
    and row rows[i] where the result has its index i along `dim`: an example
    draws the same numbers wherever it is laid out.
    Constraints: (C1) step is tensor<i64>. (C2) the result's elements are f32.
    (C3) `rows` and `dim` come together; rows are i64, one an index along `dim`.
  }];
  let arguments = (ins Graph_IntTensor:$step, Optional<Graph_IntTensor>:$rows, I64Attr:$seed,
    OptionalAttr<I64Attr>:$dim);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$step (`rows` $rows^)? attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def Graph_DropoutOp : Graph_Op<"dropout", [SameOperandsAndResultType,
    DeclareOpInterfaceMethods<ChannelsLastOpInterface>]> {
  let summary = "inference: the operand itself; graph-training-mode makes it random with drop rate `rate`";
  let arguments = (ins Graph_FloatTensor:$operand, F64Attr:$rate);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
#endif
