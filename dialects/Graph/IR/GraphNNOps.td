//===- GraphNNOps.td - Pools and composites -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHNNOPS_TD
#define DIALECTS_GRAPH_IR_GRAPHNNOPS_TD
include "dialects/Graph/IR/GraphBase.td"

// A window is given over all dims of the tensor (size 1 where it does not
// reach), so that pools need no layouts.
defvar Graph_WindowArgs = (ins DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
  DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high);

def Graph_MaxPoolOp : Graph_Op<"max_pool", [InferTypeOpAdaptor]> {
  let summary = "largest element of each window, and its row-major position within the window as i32 (the first of equals); padding is never chosen";
  let arguments = !con((ins Graph_Tensor:$operand), Graph_WindowArgs);
  let results = (outs Graph_Tensor:$result, Graph_IntTensor:$indices);
  let assemblyFormat = "$operand attr-dict `:` functional-type($operand, results)";
}
def Graph_MaxPoolGradOp : Graph_Op<"max_pool_grad"> {
  let summary = "cotangent of max_pool's operand from that of its result and its indices";
  let arguments = !con((ins Graph_FloatTensor:$grad, Graph_IntTensor:$indices), Graph_WindowArgs);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$grad `,` $indices attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def Graph_AvgPoolOp : Graph_Op<"avg_pool", [InferTypeOpAdaptor]> {
  let summary = "mean of each window; the padding counts (as zeros) only if `count_include_pad`";
  let arguments = !con((ins Graph_FloatTensor:$operand), Graph_WindowArgs, (ins BoolAttr:$count_include_pad));
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type($operand, $result)";
}
def Graph_AvgPoolGradOp : Graph_Op<"avg_pool_grad"> {
  let summary = "cotangent of avg_pool's operand";
  let arguments = !con((ins Graph_FloatTensor:$grad), Graph_WindowArgs, (ins BoolAttr:$count_include_pad));
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$grad attr-dict `:` functional-type($grad, $result)";
  let hasVerifier = 1;
}

def Graph_SoftmaxOp : Graph_Op<"softmax", [SameOperandsAndResultType,
    DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "exp(x - max) / sum over `axis`";
  let arguments = (ins Graph_FloatTensor:$operand, I64Attr:$axis);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
def Graph_LogSoftmaxOp : Graph_Op<"log_softmax", [SameOperandsAndResultType,
    DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "x - max - log(sum(exp(x - max))) over `axis`";
  let arguments = (ins Graph_FloatTensor:$operand, I64Attr:$axis);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
def Graph_LayerNormOp : Graph_Op<"layer_norm", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "(x - mean) / sqrt(var + epsilon) * scale + bias, over the dims from `axis` on; also mean and 1/sqrt(var + epsilon)";
  let description = [{
    scale and bias have the shape of the normalized dims; the statistics have
    the dims before `axis`, in f32 (f64 for f64). The variance is biased.
  }];
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$scale,
    Graph_FloatTensor:$bias, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$result, Graph_FloatTensor:$mean, Graph_FloatTensor:$inv_std);
  let assemblyFormat = "$operand `,` $scale `,` $bias attr-dict `:` functional-type(operands, results)";
}
def Graph_BatchNormOp : Graph_Op<"batch_norm", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "training batch normalization with `groups` groups of examples, each with its own statistics";
  let description = [{
    The operand's dim 0 is the batch: group g holds examples g*B/groups to
    (g+1)*B/groups - 1 and is normalized by its own mean and biased variance
    over the batch and all dims but `axis`. `mask` (i1, [B]), if present, tells
    which examples count; a group in which none counts gives mean 0 and variance
    0, and its outputs are finite. Results: y; mean and variance [groups, C]; and
    count, the number of elements (not examples) behind each group's statistics
    [groups], all f32 (f64 for f64).
  }];
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$scale, Graph_FloatTensor:$bias,
    Optional<Graph_BoolTensor>:$mask, I64Attr:$axis, F64Attr:$epsilon, I64Attr:$groups);
  let results = (outs Graph_FloatTensor:$result, Graph_FloatTensor:$mean, Graph_FloatTensor:$variance, Graph_FloatTensor:$count);
  let assemblyFormat = "$operand `,` $scale `,` $bias (`,` `mask` $mask^)? attr-dict `:` functional-type(operands, results)";
}
def Graph_BatchNormInferenceOp : Graph_Op<"batch_norm_inference", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias with given statistics, along channel dim `axis`";
  let description = [{
    `momentum` (the share of the old moving average kept) is not used here;
    graph-training-mode reads it.
  }];
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$scale, Graph_FloatTensor:$bias,
    Graph_FloatTensor:$mean, Graph_FloatTensor:$variance, I64Attr:$axis, F64Attr:$epsilon,
    DefaultValuedAttr<F64Attr, "0.9">:$momentum);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $scale `,` $bias `,` $mean `,` $variance attr-dict `:` functional-type(operands, $result)";
}
def Graph_CrossEntropyOp : Graph_Op<"cross_entropy", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "-log(softmax(logits))[label] over the last dim: one f32 (f64 for f64) loss a label";
  let description = [{
    Labels are integers of shape logits[:-1]. A label out of [0, C) gives NaN
    in the evaluator and a run-time error where the host checks labels.
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IntTensor:$labels);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $labels attr-dict `:` functional-type(operands, $result)";
}
def Graph_RandomUniformOp : Graph_Op<"random_uniform"> {
  let summary = "uniform f32 in [0, 1) from a counter: element e = hash(seed, step, e) with e the global row-major position";
  let description = [{
    Threefry-like counter generator: no state but `step` (i64 scalar tensor), so
    any split gives the same numbers: `offsets` and `global_shape` say where a
    local part lies. Integer hash: see GraphNNRandom.cpp.
  }];
  let arguments = (ins Graph_IntTensor:$step, I64Attr:$seed);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$step attr-dict `:` functional-type($step, $result)";
}
def Graph_DropoutOp : Graph_Op<"dropout", [SameOperandsAndResultType]> {
  let summary = "inference: the operand itself; graph-training-mode makes it random with drop rate `rate`";
  let arguments = (ins Graph_FloatTensor:$operand, F64Attr:$rate);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasFolder = 0;
}
#endif
