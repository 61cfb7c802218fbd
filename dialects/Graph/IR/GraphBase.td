//===- GraphBase.td - The graph dialect: tensors of a model, no devices -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHBASE_TD
#define DIALECTS_GRAPH_IR_GRAPHBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/Interfaces/ChannelsLast.td"
include "dialects/Interfaces/Contraction.td"
include "dialects/Interfaces/Cost.td"
include "dialects/Interfaces/Decomposable.td"
include "dialects/Interfaces/Differentiable.td"
include "dialects/Interfaces/Elemental.td"
include "dialects/Interfaces/Indexing.td"
include "dialects/Interfaces/Movement.td"
include "dialects/Interfaces/Reference.td"
include "dialects/Interfaces/ShardingRule.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::mlir::dist::graph";
  let summary = "A model as a dataflow graph of tensors with global shapes";
  let description = [{
    Value-semantics tensor ops, few and orthogonal, closed under
    differentiation. Shapes are static. Integer element types are signless for
    signed integers, `ui8`..`ui64` for unsigned ones and `i1` for booleans.
    No op broadcasts implicitly: `graph.broadcast` does.

    **Numbers.** Floats are IEEE 754's, with NumPy's choices where it leaves one;
    the evaluator, the generated kernels, the library's and the collectives do
    the same. Other places refer to this one.
    - *NaN wins*: `max`, `min`, `relu`, maxima and minima over dims, windows and
      ranks, and scatters of them are NaN if an operand is. Comparisons with NaN
      are false, but for `ne`.
    - *Order* (`top_k`, `arg_max`, `arg_min`, the index of `max_pool`): of equals
      the first counts, and NaNs are equal. For `top_k` NaN is above every
      number, so that it comes first among the largest and last among the
      smallest, as in NumPy's and PyTorch's sorting; `arg_max` and `arg_min` both
      give the first NaN, as NumPy's.
    - Infinities and denormals are kept: nothing is flushed to zero, and no code
      assumes that there is no NaN. But products and convolutions of bf16 may read
      denormals as zeros: a CPU's instructions for bf16 and its tiles do.
    - *The sign of a zero is free* where arithmetic makes it (x + 0 is x, and of
      -0 and 0 either is the larger), and so is that of an infinity made by it.
    - *Float to integer* (`convert`, and what is written to integer variables):
      truncated towards zero; out of range, infinities too, the nearest that the
      type has; NaN is 0. To `i1`: whether it is not 0, which NaN is not.
      *Integer to narrower integer* wraps around; to `i1`: whether it is not 0.
    - Integer arithmetic wraps around; division by zero gives 0.
    - *An exception that loses nothing*: Winograd's convolutions transform
      blocks of the image, the library's may multiply the zeros of pads and gaps,
      and sums may be reordered, so that NaN or an infinity can reach results
      beside those that depend on it (as NaN), but never vanishes.

    Function arguments and results carry `graph.role` (one of Role: "input",
    "label", "mask", "count", "variable", "prepared"; "output", "loss",
    "learning_rate", "variable", "prepared", "finite", "metric", "gradient"),
    `graph.name`, for state `graph.variable = @symbol`, and `graph.batch_dim`
    where a dim is the batch.
  }];
  let hasConstantMaterializer = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Each family's file adds its own ops.
    void registerMathOps();
    void registerReduceOps();
    void registerShapeOps();
    void registerIndexOps();
    void registerContractionOps();
    void registerNNOps();
    void registerStateOps();
  }];
}

def Graph_Element : AnyTypeOf<[AnyFloat, AnyInteger]>;
def Graph_Tensor : StaticShapeTensorOf<[Graph_Element]>;
def Graph_FloatTensor : StaticShapeTensorOf<[AnyFloat]>;
def Graph_IntTensor : StaticShapeTensorOf<[AnyInteger]>;
def Graph_BoolTensor : StaticShapeTensorOf<[I1]>;

class Graph_I32Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::dist::graph";
}
class Graph_Case<string name, int value, string text>
    : I32EnumAttrCase<name, value, text>;

def Graph_ComparePredicate : Graph_I32Enum<"ComparePredicate", "comparison", [
  Graph_Case<"EQ", 0, "eq">, Graph_Case<"NE", 1, "ne">,
  Graph_Case<"LT", 2, "lt">, Graph_Case<"LE", 3, "le">,
  Graph_Case<"GT", 4, "gt">, Graph_Case<"GE", 5, "ge">]>;
def Graph_ScatterKind : Graph_I32Enum<"ScatterKind",
  "what a scatter does with an update", [
  Graph_Case<"Set", 0, "set">, Graph_Case<"Add", 1, "add">,
  Graph_Case<"Mul", 2, "mul">, Graph_Case<"Max", 3, "max">,
  Graph_Case<"Min", 4, "min">]>;
def Graph_Role : Graph_I32Enum<"Role",
  "what an argument or result of an entry is for", [
  Graph_Case<"Input", 0, "input">, Graph_Case<"Label", 1, "label">,
  Graph_Case<"Mask", 2, "mask">, Graph_Case<"Count", 3, "count">,
  Graph_Case<"Variable", 4, "variable">, Graph_Case<"Output", 5, "output">,
  Graph_Case<"Loss", 6, "loss">,
  Graph_Case<"LearningRate", 7, "learning_rate">,
  Graph_Case<"Prepared", 8, "prepared">, Graph_Case<"Finite", 9, "finite">,
  Graph_Case<"Metric", 10, "metric">, Graph_Case<"Gradient", 11, "gradient">]>;
def Graph_Synchronization : Graph_I32Enum<"Synchronization",
  "when the copies of a variable agree (TensorFlow's VariableSynchronization)", [
  Graph_Case<"OnWrite", 0, "on_write">, Graph_Case<"OnRead", 1, "on_read">]>;
def Graph_Aggregation : Graph_I32Enum<"Aggregation",
  "how writes or copies combine (TensorFlow's VariableAggregation)", [
  Graph_Case<"None", 0, "none">, Graph_Case<"Sum", 1, "sum">,
  Graph_Case<"Mean", 2, "mean">,
  Graph_Case<"OnlyFirst", 3, "only_first_replica">]>;

// How code is generated for an op: an element at a time, a row at a time, or by
// loops of its own.
defvar Graph_ElementCode = [DeclareOpInterfaceMethods<ElementalOpInterface>];
defvar Graph_RowCode = [DeclareOpInterfaceMethods<RowCodeOpInterface>];
defvar Graph_LoopCode = [DeclareOpInterfaceMethods<LoopedOpInterface>];

// Every tensor op has every interface: a missing rule does not link.
class Graph_Op<string mnemonic, list<Trait> traits = [], list<Trait> emission = Graph_ElementCode>
    : Op<Graph_Dialect, mnemonic, !listconcat(traits, emission, [Pure,
        DeclareOpInterfaceMethods<DifferentiableOpInterface>,
        DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
        DeclareOpInterfaceMethods<CostOpInterface>,
        DeclareOpInterfaceMethods<ReferenceOpInterface>])>;
// Whose results' elements are an operand's as they are, or follow from their
// index.
defvar Graph_Moves = DeclareOpInterfaceMethods<MovementOpInterface>;
// Whose attributes name dims of activations.
defvar Graph_MovesChannels = DeclareOpInterfaceMethods<ChannelsLastOpInterface, ["moveChannels"]>;
// With an operand of integers that number something.
class Graph_IndexingOp<string mnemonic, list<Trait> traits = [], list<Trait> emission = Graph_ElementCode>
    : Graph_Op<mnemonic, !listconcat(traits,
        [DeclareOpInterfaceMethods<IndexingOpInterface>]), emission>;

#endif
