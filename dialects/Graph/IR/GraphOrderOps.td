//===- GraphOrderOps.td - When ops run -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHORDEROPS_TD
#define DIALECTS_GRAPH_IR_GRAPHORDEROPS_TD
include "dialects/Graph/IR/GraphBase.td"

def Graph_AfterOp : Graph_Op<"after", [AllTypesMatch<["operand", "result"]>, Graph_Moves], /*emission=*/[]> {
  let summary = "the operand, but not before `anchor` is there";
  let description = [{
    What reads the result is computed after the anchor: nothing merges it with
    an equal op that reads the operand itself. It is a view and costs nothing;
    graph-recompute puts it where the backward pass begins to compute again.
    ```mlir
    %1 = graph.after %0, %grad : tensor<8x4xf32>, tensor<8x2xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_Tensor:$anchor);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` $anchor attr-dict `:` type($operand) `,` type($anchor)";
  let extraClassDeclaration = [{
    ::mlir::dist::OpCost getCost() { return {}; }
  }];
}
#endif
