//===- GraphContractionOps.td - Products and convolutions -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHCONTRACTIONOPS_TD
#define DIALECTS_GRAPH_IR_GRAPHCONTRACTIONOPS_TD
include "dialects/Graph/IR/GraphBase.td"

// Costs far more than an operation an element.
class Graph_ContractionOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat(traits,
        [DeclareOpInterfaceMethods<CostOpInterface, ["getCost"]>,
         ContractionOpInterface])>;

def Graph_DotGeneralOp : Graph_ContractionOp<"dot_general", [InferTypeOpAdaptor]> {
  let summary = "sum of products over the contracting dims";
  let description = [{
    Result dims: batch dims (in the order of `lhs_batch`), the other lhs dims,
    the other rhs dims. f16 and bf16 accumulate in f32; integers wrap.
    Constraints: (C1) batch and contracting lists have equal lengths on both
    sides and name distinct dims. (C2) paired dims have equal sizes. (C3) both
    operands have one element type, which is the result's.
    ```mlir
    %2 = graph.dot_general %0, %1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<32x784xf32>, tensor<784x10xf32>) -> tensor<32x10xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs,
    DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
    DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
  let extraClassDeclaration = [{
    /// Dims of a side that are neither of the batch nor contracted, in order.
    ::llvm::SmallVector<int64_t> getLhsFree();
    ::llvm::SmallVector<int64_t> getRhsFree();
  }];
}

// Layouts are strings with one letter a dim: activations N (batch), C (channel)
// and spatial dims in order as 0, 1, 2 ("NC01", "N01C"); filters O (output
// channel), I (input channel a group) and spatial ("OI01", "01IO").
defvar Graph_ConvArgs = (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pad_low,
  DenseI64ArrayAttr:$pad_high, DenseI64ArrayAttr:$dilations, I64Attr:$groups,
  StrAttr:$input_layout, StrAttr:$filter_layout, StrAttr:$output_layout);

// A rank has a part of the groups: it adapts their number.
class Graph_ConvolutionOp<string mnemonic, list<Trait> traits = []>
    : Graph_ContractionOp<mnemonic, !listconcat(traits,
        [DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["partition"]>])>;

// Libraries compute them faster with channels last.
defvar Graph_WantsChannelsLast = DeclareOpInterfaceMethods<ChannelsLastOpInterface,
  ["wantsChannelsLast", "hasChannels", "moveChannels"]>;

def Graph_ConvOp : Graph_ConvolutionOp<"conv", [InferTypeOpAdaptor, Graph_WantsChannelsLast]> {
  let summary = "convolution (cross-correlation) with any spatial dims, groups, strides, pads and filter dilations";
  let description = [{
    Constraints: (C1) layouts name each letter once. (C2) strides, pads and
    dilations have one entry a spatial dim; strides, dilations and groups >= 1,
    pads >= 0. (C3) channels = I x groups and O divides by groups. (C4) the
    padded input is at least as large as the dilated filter. (C5) both operands
    have one element type, which is the result's.
  }];
  let arguments = !con((ins Graph_FloatTensor:$input, Graph_FloatTensor:$filter), Graph_ConvArgs);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `,` $filter attr-dict `:` functional-type(operands, $result)";
}
def Graph_ConvInputGradOp : Graph_ConvolutionOp<"conv_input_grad", [Graph_WantsChannelsLast]> {
  let summary = "cotangent of conv's input from that of its result (also a transposed convolution)";
  let description = [{
    Attributes are those of the `conv`; the result type is its input's.
    Constraints: those of `conv`, and (C6) the conv of the result and the filter
    has the type of `grad`.
  }];
  let arguments = !con((ins Graph_FloatTensor:$grad, Graph_FloatTensor:$filter), Graph_ConvArgs);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$grad `,` $filter attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def Graph_ConvFilterGradOp : Graph_ConvolutionOp<"conv_filter_grad"> {
  let summary = "cotangent of conv's filter from its input and the cotangent of its result";
  let description = [{
    Attributes are those of the `conv`; the result type is its filter's.
    Constraints: those of `conv`, and (C6) the conv of the input and the result
    has the type of `grad`.
  }];
  let arguments = !con((ins Graph_FloatTensor:$input, Graph_FloatTensor:$grad), Graph_ConvArgs);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input `,` $grad attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
#endif
