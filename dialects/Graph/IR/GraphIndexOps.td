//===- GraphIndexOps.td - Ops that index with tensors -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHINDEXOPS_TD
#define DIALECTS_GRAPH_IR_GRAPHINDEXOPS_TD
include "dialects/Graph/IR/GraphBase.td"

// Negative indices count from the end (as in ONNX). Out of range, the compiled
// kernels clamp; the evaluator gives an error. Inputs that are indices are
// checked before they run (`graph-index-inputs`).

def Graph_GatherOp : Graph_IndexingOp<"gather", [InferTypeOpAdaptor, Graph_Moves]> {
  let summary = "operand slices along `axis` at `indices`: shape = operand[:axis] + indices + operand[axis+1:]";
  let description = [{
    Constraints: (C1) `axis` names a dim of at least one element.
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_IntTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` $indices attr-dict `:` functional-type(operands, $result)";
  let extraClassDeclaration = [{
    ::mlir::dist::OpCost getCost();
  }];
}
def Graph_ScatterAddOp : Graph_IndexingOp<"scatter_add", [InferTypeOpAdaptor], Graph_LoopCode> {
  let summary = "operand, with updates added along `axis` at `indices`: the transpose of `gather`";
  let description = [{
    Constraints: (C1) `axis` names a dim of at least one element. (C2) updates have
    the type that `gather` would give.
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_IntTensor:$indices, Graph_Tensor:$updates, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` $indices `,` $updates attr-dict `:` functional-type(operands, $result)";
}
def Graph_GatherElementsOp : Graph_IndexingOp<"gather_elements", [InferTypeOpAdaptor, Graph_Moves]> {
  let summary = "result[i..] = operand[i..] with coordinate `axis` replaced by indices[i..]; result has the shape of indices";
  let description = [{
    Constraints: (C1) `axis` names a dim of at least one element. (C2) indices
    are no larger than the operand in any other dim.
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_IntTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` $indices attr-dict `:` functional-type(operands, $result)";
  let extraClassDeclaration = [{
    ::mlir::dist::OpCost getCost();
  }];
}
def Graph_ScatterElementsOp : Graph_IndexingOp<"scatter_elements", [InferTypeOpAdaptor], Graph_LoopCode> {
  let summary = "operand, with each update combined at its own index and coordinate `axis` from indices";
  let description = [{
    Constraints: (C1) `axis` names a dim of at least one element. (C2) indices
    and updates have one shape, no larger than the operand in any other dim.
  }];
  let arguments = (ins Graph_ScatterKind:$kind, Graph_Tensor:$operand, Graph_IntTensor:$indices, Graph_Tensor:$updates, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$kind `,` $operand `,` $indices `,` $updates attr-dict `:` functional-type(operands, $result)";
}
def Graph_GatherNDOp : Graph_IndexingOp<"gather_nd", [InferTypeOpAdaptor, Graph_Moves]> {
  let summary = "ONNX GatherND: the last dim of indices holds coordinates of the dims after `batch_dims`";
  let description = [{
    Constraints: (C1) the last dim of indices holds at most the coordinates that
    the operand has after the batch dims. (C2) batch dims agree.
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_IntTensor:$indices, I64Attr:$batch_dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` $indices attr-dict `:` functional-type(operands, $result)";
  let extraClassDeclaration = [{
    ::mlir::dist::OpCost getCost();
  }];
}
def Graph_ScatterNDOp : Graph_IndexingOp<"scatter_nd", [InferTypeOpAdaptor], Graph_LoopCode> {
  let summary = "operand, with slices of updates combined at the coordinates in the last dim of indices (after `batch_dims` shared dims)";
  let description = [{
    Constraints: (C1), (C2) those of `gather_nd`. (C3) updates have the type that
    `gather_nd` would give.
  }];
  let arguments = (ins Graph_ScatterKind:$kind, Graph_Tensor:$operand, Graph_IntTensor:$indices, Graph_Tensor:$updates, I64Attr:$batch_dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$kind `,` $operand `,` $indices `,` $updates attr-dict `:` functional-type(operands, $result)";
}
def Graph_ScatterRowsOp : Graph_IndexingOp<"scatter_rows", [InferTypeOpAdaptor], Graph_RowCode> {
  let summary = "rows of `size` zeros along the last dim, to which updates are added at their indices, in their order";
  let description = [{
    `scatter_elements add` onto zeros, which are nowhere in memory: a kernel
    that reads the result makes a row of it at a time.
    ```mlir
    %0 = graph.scatter_rows %updates, %indices {size = 1024 : i64} : (tensor<392x20xf32>, tensor<392x20xi16>) -> tensor<392x1024xf32>
    ```
    Constraints: (C1) updates and indices have one shape, of at least one dim,
    and `size` is positive.
  }];
  let arguments = (ins Graph_Tensor:$updates, Graph_IntTensor:$indices, I64Attr:$size);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$updates `,` $indices attr-dict `:` functional-type(operands, $result)";
  let extraClassDeclaration = [{
    double getInstructions();
  }];
}
#endif
