//===- GraphShapeOps.td - Constants and ops that move elements -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHSHAPEOPS_TD
#define DIALECTS_GRAPH_IR_GRAPHSHAPEOPS_TD
include "dialects/Graph/IR/GraphBase.td"

def Graph_ConstantOp : Graph_Op<"constant", [ConstantLike, InferTypeOpAdaptor, Graph_Moves]> {
  let summary = "a constant tensor (`dense` or `dense_resource`)";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let extraClassDeclaration = [{
    ::mlir::FailureOr<::mlir::Operation *>
    partition(::mlir::OpBuilder &builder, ::mlir::ValueRange operands,
              ::mlir::TypeRange resultTypes,
              ::llvm::ArrayRef<int64_t> factorShards);
    /// Splats only: other constants are buffers of the program.
    bool isElemental();
  }];
}
def Graph_IotaOp : Graph_Op<"iota", [Graph_Moves]> {
  let summary = "0, 1, 2, ... along `dim`";
  let description = [{ Constraints: (C1) `dim` is a dim of the result. }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Graph_BroadcastOp : Graph_Op<"broadcast", [Graph_Moves]> {
  let summary = "operand dim i becomes result dim `dims[i]`; the other result dims repeat";
  let description = [{
    Constraints: (C1) `dims` has one entry an operand dim, strictly increasing.
    (C2) an operand dim equals its result dim, or is 1 (and then repeats).
    (C3) one element type.
    ```mlir
    %1 = graph.broadcast %0 {dims = array<i64: 1>} : (tensor<10xf32>) -> tensor<32x10xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type($operand, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Graph_ReshapeOp : Graph_Op<"reshape", [Graph_Moves]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{ Constraints: (C1) equal numbers of elements. (C2) one element type. }];
  let arguments = (ins Graph_Tensor:$operand);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type($operand, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Graph_TransposeOp : Graph_Op<"transpose", [InferTypeOpAdaptor, Graph_Moves]> {
  let summary = "result dim i is operand dim `permutation[i]`";
  let description = [{ Constraints: (C1) `permutation` names each dim once. }];
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type($operand, $result)";
  let hasFolder = 1;
}
def Graph_SliceOp : Graph_Op<"slice", [InferTypeOpAdaptor, Graph_Moves, Graph_MovesChannels]> {
  let summary = "elements starts[d], starts[d]+strides[d], ... < limits[d] of each dim";
  let description = [{
    Constraints: (C1) one entry a dim in each list. (C2) 0 <= start <= limit <=
    size. (C3) strides >= 1.
  }];
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$starts,
    DenseI64ArrayAttr:$limits, DenseI64ArrayAttr:$strides);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type($operand, $result)";
  let hasFolder = 1;
  let extraClassDeclaration = [{
    ::mlir::dist::OpCost getCost();
    ::mlir::FailureOr<::mlir::Operation *>
    partition(::mlir::OpBuilder &builder, ::mlir::ValueRange operands,
              ::mlir::TypeRange resultTypes,
              ::llvm::ArrayRef<int64_t> factorShards);
  }];
}
def Graph_PadOp : Graph_Op<"pad", [InferTypeOpAdaptor, Graph_MovesChannels]> {
  let summary = "pads each dim with the scalar `value`: `low` before, `high` after, `interior` between elements";
  let description = [{
    Negative `low` and `high` crop. Constraints: (C1) one entry a dim in each
    list. (C2) interior >= 0. (C3) result sizes >= 0. (C4) the value is a scalar tensor of the element type.
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_Tensor:$value, DenseI64ArrayAttr:$low,
    DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` $value attr-dict `:` functional-type(operands, $result)";
}
def Graph_ConcatOp : Graph_Op<"concat", [InferTypeOpAdaptor, Graph_MovesChannels]> {
  let summary = "operands one after another along `axis`";
  let description = [{ Constraints: (C1) at least one operand. (C2) `axis` is a dim. (C3) operands
    differ in that dim only. }];
  let arguments = (ins Variadic<Graph_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result)";
  let hasFolder = 1;
}
def Graph_ReverseOp : Graph_Op<"reverse", [SameOperandsAndResultType]> {
  let summary = "reverses the order along `dims`";
  let description = [{ Constraints: (C1) `dims` are distinct dims of the operand. }];
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasVerifier = 1;
}
#endif
