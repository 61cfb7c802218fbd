//===- GraphRowOps.td - Lookups in a table of numbered rows -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHROWOPS_TD
#define DIALECTS_GRAPH_IR_GRAPHROWOPS_TD
include "dialects/Graph/IR/GraphBase.td"

// A table of `num_rows` rows, of which the operand has those that `numbers`
// says: consecutive ones, so that only the first number is ever read. With all
// numbers from 0 on they are `gather` and `scatter_add` along dim 0; what a
// rank's own rows give adds up to that. Negative indices count from the end of
// the whole table; out of its range, the compiled kernels clamp and the
// evaluator gives an error, as for `gather`.

def Graph_GatherRowsOp : Graph_IndexingOp<"gather_rows", [InferTypeOpAdaptor, Graph_Moves]> {
  let summary = "rows of the operand at `indices`, zeros where the operand has no such row: shape = indices + operand[1:]";
  let description = [{
    Constraints: (C1) the operand has a dim 0 of at least one row. (C2)
    `numbers` are as many as the operand's rows, in one dim.

    Example: rows 4 to 7 of a table of 8.
    ```mlir
    %0 = graph.gather_rows %part, %ids, %numbers {num_rows = 8 : i64}
      : (tensor<4x16xf32>, tensor<2x6xi64>, tensor<4xi32>) -> tensor<2x6x16xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_IntTensor:$indices, Graph_IntTensor:$numbers,
                       ConfinedAttr<I64Attr, [IntPositive]>:$num_rows);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` $indices `,` $numbers attr-dict `:` functional-type(operands, $result)";
  let extraClassDeclaration = [{
    ::mlir::dist::OpCost getCost();
  }];
}
def Graph_ScatterAddRowsOp : Graph_IndexingOp<"scatter_add_rows", [InferTypeOpAdaptor], Graph_LoopCode> {
  let summary = "operand, with updates added to its rows at `indices`, those left out that it has no row for: the transpose of `gather_rows`";
  let description = [{
    Constraints: (C1), (C2) those of `gather_rows`. (C3) updates have the type
    that `gather_rows` would give.
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_IntTensor:$indices, Graph_Tensor:$updates, Graph_IntTensor:$numbers,
                       ConfinedAttr<I64Attr, [IntPositive]>:$num_rows);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` $indices `,` $updates `,` $numbers attr-dict `:` functional-type(operands, $result)";
}
#endif
