//===- GraphMathOps.td - Element-wise ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHMATHOPS_TD
#define DIALECTS_GRAPH_IR_GRAPHMATHOPS_TD
include "dialects/Graph/IR/GraphBase.td"

// An element-wise op is one struct `ScalarCode<Op>` (GraphMathUnary.h and its
// neighbours): its value, its scalar code and its derivative. The interfaces'
// methods are the same for all of them.
class Graph_ElementwiseOp<string mnemonic, list<Trait> traits, int instructions = 1>
    : Graph_Op<mnemonic, !listconcat(traits, [Elementwise,
        DeclareOpInterfaceMethods<ChannelsLastOpInterface>])> {
  let extraClassDeclaration =
      "double getInstructions() { return " # !cast<string>(instructions) # "; }";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::differentiate(
        ::mlir::OpBuilder &builder, ::mlir::ValueRange resultCotangents,
        ::llvm::ArrayRef<bool> wanted,
        ::llvm::SmallVectorImpl<::mlir::Value> &cotangents) {
      return differentiateElementwise(*this, builder, resultCotangents, wanted,
                                      cotangents);
    }
    ::mlir::dist::ShardingRule $cppClass::getShardingRule() {
      return ::mlir::dist::getElementwiseRule(*this, getLinearSets(*this));
    }
    ::llvm::LogicalResult $cppClass::evaluate(
        ::llvm::ArrayRef<::mlir::dist::HostTensor> operands,
        ::llvm::SmallVectorImpl<::mlir::dist::HostTensor> &results) {
      return evaluateElementwise(*this, operands, results);
    }
    ::mlir::Value $cppClass::emitElement(
        ::mlir::OpBuilder &builder, ::mlir::Location loc, unsigned result,
        ::mlir::ValueRange indices, ::mlir::dist::ElementLoader load) {
      return emitElementwise(*this, builder, loc, indices, load);
    }
  }];
}
// `instructions`: of vectors, an addition being one.
class Graph_UnaryOp<string mnemonic, string what, Type type = Graph_Tensor, int instructions = 1>
    : Graph_ElementwiseOp<mnemonic, [SameOperandsAndResultType], instructions> {
  let summary = what;
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
class Graph_BinaryOp<string mnemonic, string what, Type type = Graph_Tensor, int instructions = 1>
    : Graph_ElementwiseOp<mnemonic, [SameOperandsAndResultType], instructions> {
  let summary = what;
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def Graph_NegOp : Graph_UnaryOp<"neg", "-x"> { let hasFolder = 1; }
def Graph_AbsOp : Graph_UnaryOp<"abs", "|x|">;
def Graph_SignOp : Graph_UnaryOp<"sign", "-1, 0 or 1; NaN of NaN">;
def Graph_ExpOp : Graph_UnaryOp<"exp", "e^x", Graph_FloatTensor, 12>;
def Graph_LogOp : Graph_UnaryOp<"log", "natural logarithm", Graph_FloatTensor, 12>;
def Graph_Log1pOp : Graph_UnaryOp<"log1p", "log(1 + x)", Graph_FloatTensor>;
def Graph_Expm1Op : Graph_UnaryOp<"expm1", "e^x - 1", Graph_FloatTensor>;
def Graph_SqrtOp : Graph_UnaryOp<"sqrt", "square root", Graph_FloatTensor, 8>;
def Graph_RsqrtOp : Graph_UnaryOp<"rsqrt", "1 / sqrt(x)", Graph_FloatTensor, 8>;
def Graph_TanhOp : Graph_UnaryOp<"tanh", "hyperbolic tangent", Graph_FloatTensor, 20>;
def Graph_LogisticOp : Graph_UnaryOp<"logistic", "1 / (1 + e^-x)", Graph_FloatTensor, 12>;
def Graph_ErfOp : Graph_UnaryOp<"erf", "error function", Graph_FloatTensor, 20>;
def Graph_ReluOp : Graph_UnaryOp<"relu", "max(x, 0); derivative 0 at 0; NaN of NaN">;
def Graph_SinOp : Graph_UnaryOp<"sin", "sine", Graph_FloatTensor>;
def Graph_CosOp : Graph_UnaryOp<"cos", "cosine", Graph_FloatTensor>;
def Graph_TanOp : Graph_UnaryOp<"tan", "tangent", Graph_FloatTensor>;
def Graph_AsinOp : Graph_UnaryOp<"asin", "inverse sine", Graph_FloatTensor>;
def Graph_AcosOp : Graph_UnaryOp<"acos", "inverse cosine", Graph_FloatTensor>;
def Graph_AtanOp : Graph_UnaryOp<"atan", "inverse tangent", Graph_FloatTensor>;
def Graph_SinhOp : Graph_UnaryOp<"sinh", "hyperbolic sine", Graph_FloatTensor>;
def Graph_CoshOp : Graph_UnaryOp<"cosh", "hyperbolic cosine", Graph_FloatTensor>;
def Graph_AsinhOp : Graph_UnaryOp<"asinh", "inverse hyperbolic sine", Graph_FloatTensor>;
def Graph_AcoshOp : Graph_UnaryOp<"acosh", "inverse hyperbolic cosine", Graph_FloatTensor>;
def Graph_AtanhOp : Graph_UnaryOp<"atanh", "inverse hyperbolic tangent", Graph_FloatTensor>;
def Graph_FloorOp : Graph_UnaryOp<"floor", "round towards -inf", Graph_FloatTensor>;
def Graph_CeilOp : Graph_UnaryOp<"ceil", "round towards +inf", Graph_FloatTensor>;
def Graph_RoundOp : Graph_UnaryOp<"round", "round to nearest, ties to even", Graph_FloatTensor>;
def Graph_StopGradientOp : Graph_UnaryOp<"stop_gradient", "x, of which no derivative is taken"> {
  let description = [{
    What is trained does not see what lies before it (TensorFlow's and JAX's
    `stop_gradient`, PyTorch's `detach`). `graph-select-entries` removes it, once
    nothing is differentiated any more.
  }];
}
def Graph_NotOp : Graph_UnaryOp<"not", "bitwise complement (of i1: logical)", Graph_IntTensor>;

def Graph_AddOp : Graph_BinaryOp<"add", "x + y"> { let hasFolder = 1; }
def Graph_SubOp : Graph_BinaryOp<"sub", "x - y"> { let hasFolder = 1; }
def Graph_MulOp : Graph_BinaryOp<"mul", "x * y"> { let hasFolder = 1; }
def Graph_DivOp : Graph_BinaryOp<"div", "x / y; integers truncate; by zero: 0", Graph_Tensor, 8> { let hasFolder = 1; }
def Graph_RemOp : Graph_BinaryOp<"rem", "remainder with the dividend's sign (C's fmod); integer by zero: 0">;
def Graph_PowOp : Graph_BinaryOp<"pow", "x ^ y", Graph_Tensor, 20> { let hasCanonicalizer = 1; }
def Graph_MaxOp : Graph_BinaryOp<"max", "larger; NaN if either is; derivative to lhs when equal">;
def Graph_MinOp : Graph_BinaryOp<"min", "smaller; NaN if either is; derivative to lhs when equal">;
def Graph_AndOp : Graph_BinaryOp<"and", "bitwise and", Graph_IntTensor>;
def Graph_OrOp : Graph_BinaryOp<"or", "bitwise or", Graph_IntTensor>;
def Graph_XorOp : Graph_BinaryOp<"xor", "bitwise exclusive or", Graph_IntTensor>;
def Graph_ShiftLeftOp : Graph_BinaryOp<"shift_left", "x << y; 0 when y >= width", Graph_IntTensor>;
def Graph_ShiftRightOp : Graph_BinaryOp<"shift_right", "logical x >> y; 0 when y >= width", Graph_IntTensor>;

def Graph_IsNanOp : Graph_ElementwiseOp<"is_nan", [InferTypeOpAdaptor]> {
  let summary = "whether x is NaN";
  let arguments = (ins Graph_FloatTensor:$operand);
  let results = (outs Graph_BoolTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type($operand, $result)";
}
def Graph_IsInfOp : Graph_ElementwiseOp<"is_inf", [InferTypeOpAdaptor]> {
  let summary = "whether x is +inf (if `positive`) or -inf (if `negative`)";
  let arguments = (ins Graph_FloatTensor:$operand,
    DefaultValuedAttr<BoolAttr, "true">:$positive,
    DefaultValuedAttr<BoolAttr, "true">:$negative);
  let results = (outs Graph_BoolTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type($operand, $result)";
}
def Graph_CompareOp : Graph_ElementwiseOp<"compare", [InferTypeOpAdaptor, SameTypeOperands,
    DeclareOpInterfaceMethods<IndexingOpInterface>]> {
  let summary = "element-wise comparison; false with NaN, but for `ne`";
  let arguments = (ins Graph_ComparePredicate:$predicate, Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_BoolTensor:$result);
  let assemblyFormat = "$predicate `,` $lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
}
def Graph_SelectOp : Graph_ElementwiseOp<"select", [InferTypeOpAdaptor]> {
  let summary = "predicate ? on_true : on_false, all of one shape";
  let description = [{ Constraints: (C1) one type of both values. }];
  let arguments = (ins Graph_BoolTensor:$predicate, Graph_Tensor:$onTrue, Graph_Tensor:$onFalse);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$predicate `,` $onTrue `,` $onFalse attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Graph_ConvertOp : Graph_ElementwiseOp<"convert", [SameOperandsAndResultShape]> {
  let summary = "conversion of the element type: floats to integers truncate and saturate (NaN: 0), integers wrap, to i1 test != 0";
  let arguments = (ins Graph_Tensor:$operand);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type($operand, $result)";
  let hasFolder = 1;
}
#endif
