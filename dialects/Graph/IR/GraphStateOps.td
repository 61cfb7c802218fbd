//===- GraphStateOps.td - Variables -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHSTATEOPS_TD
#define DIALECTS_GRAPH_IR_GRAPHSTATEOPS_TD
include "dialects/Graph/IR/GraphBase.td"
include "mlir/IR/SymbolInterfaces.td"

def Graph_VariableOp : Op<Graph_Dialect, "variable", [Symbol]> {
  let summary = "a named tensor that outlives a step";
  let description = [{
    `initial` is the value at the start: `dense`, or `dense_resource` over the
    mapped model file. `group` says what it is for: "parameter", "buffer"
    (moving statistics), "slot" (optimizer), "accumulator", "metric", "counter",
    "pulled" (a worker's rows of a table that servers hold).
    `slot_of` names the parameter of a slot or accumulator. `why` tells the user
    why it is trainable or not. `sharding` is a dist.sharding once a strategy
    has run. Constraints: (C1) the initial value has the variable's type. (C2) a
    trainable variable is of floats.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Graph_Tensor>:$type,
    ElementsAttr:$initial, UnitAttr:$trainable, DefaultValuedAttr<StrAttr, "\"parameter\"">:$group,
    DefaultValuedAttr<Graph_Synchronization, "Synchronization::OnWrite">:$synchronization,
    DefaultValuedAttr<Graph_Aggregation, "Aggregation::None">:$aggregation,
    OptionalAttr<FlatSymbolRefAttr>:$slot_of, OptionalAttr<StrAttr>:$why,
    OptionalAttr<AnyAttr>:$sharding);
  let assemblyFormat = "$sym_name `:` $type (`trainable` $trainable^)? attr-dict `=` $initial";
  let hasVerifier = 1;
}
def Graph_ReadOp : Op<Graph_Dialect, "read", [MemoryEffects<[MemRead]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a variable (gone after graph-functionalize-state)";
  let description = [{ Constraints: (C1) the symbol is a variable of the result's type. }];
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}
def Graph_AssignOp : Op<Graph_Dialect, "assign", [MemoryEffects<[MemWrite]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "sets a variable (gone after graph-functionalize-state)";
  let description = [{ Constraints: (C1) the symbol is a variable of the value's type. }];
  let arguments = (ins FlatSymbolRefAttr:$variable, Graph_Tensor:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
}
#endif
