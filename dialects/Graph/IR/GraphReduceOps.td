//===- GraphReduceOps.td - Reductions and scans -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHREDUCEOPS_TD
#define DIALECTS_GRAPH_IR_GRAPHREDUCEOPS_TD
include "dialects/Graph/IR/GraphBase.td"
include "dialects/Interfaces/Reduction.td"

def Graph_ReduceOp : Graph_Op<"reduce", [InferTypeOpAdaptor, Graph_MovesChannels]> {
  let summary = "reduction over `dims`, which the result does not have";
  let description = [{
    Sums of f16 and bf16 are accumulated in f32. Constraints:
    (C1) `dims` are distinct, increasing and within the operand.
    ```mlir
    %1 = graph.reduce sum, %0 {dims = array<i64: 0>} : (tensor<32x10xf32>) -> tensor<10xf32>
    ```
  }];
  let arguments = (ins Dist_Reduction:$kind, Graph_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$kind `,` $operand attr-dict `:` functional-type($operand, $result)";
  let hasFolder = 1;
  let extraClassDeclaration = [{
    ::mlir::dist::OpCost getCost();
  }];
}
class Graph_ArgOp<string mnemonic, string what, string largest>
    : Graph_Op<mnemonic, [InferTypeOpAdaptor]> {
  let summary = what # " along `axis` (removed), as i64; the first of equals, or the last if `select_last`; NaN beats every number";
  let description = [{ Constraints: (C1) `axis` names a dim of at least one element. }];
  let arguments = (ins Graph_Tensor:$operand, I64Attr:$axis,
    DefaultValuedAttr<BoolAttr, "false">:$select_last);
  let results = (outs Graph_IntTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type($operand, $result)";
  let extraClassDeclaration = [{
    ::mlir::dist::OpCost getCost();
  }];
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, std::optional<::mlir::Location> loc,
        Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return inferArgType(getOperationName(), loc, adaptor.getOperand(),
                          adaptor.getAxis(), types);
    }
    ::llvm::LogicalResult $cppClass::differentiate(
        ::mlir::OpBuilder &, ::mlir::ValueRange, ::llvm::ArrayRef<bool>,
        ::llvm::SmallVectorImpl<::mlir::Value> &cotangents) {
      cotangents.push_back({});
      return ::mlir::success();
    }
    ::mlir::dist::ShardingRule $cppClass::getShardingRule() {
      return getArgRule(*this);
    }
    ::mlir::dist::OpCost $cppClass::getCost() {
      ::mlir::dist::OpCost cost = ::mlir::dist::getElementwiseCost(*this);
      cost.flops = getOperand().getType().getNumElements();
      return cost;
    }
    ::llvm::LogicalResult $cppClass::evaluate(
        ::llvm::ArrayRef<::mlir::dist::HostTensor> operands,
        ::llvm::SmallVectorImpl<::mlir::dist::HostTensor> &results) {
      return evaluateArg(*this, }]#largest#[{, operands, results);
    }
    ::mlir::Value $cppClass::emitElement(
        ::mlir::OpBuilder &builder, ::mlir::Location loc, unsigned result,
        ::mlir::ValueRange indices, ::mlir::dist::ElementLoader load) {
      return emitArg(*this, }]#largest#[{, builder, loc, indices, load);
    }
  }];
}
def Graph_ArgMaxOp : Graph_ArgOp<"arg_max", "index of the largest", "true">;
def Graph_ArgMinOp : Graph_ArgOp<"arg_min", "index of the smallest", "false">;
def Graph_CumSumOp : Graph_Op<"cumsum", [SameOperandsAndResultType], Graph_LoopCode> {
  let summary = "running sum along `axis`";
  let description = [{ Constraints: (C1) `axis` names a dim. }];
  let arguments = (ins Graph_Tensor:$operand, I64Attr:$axis,
    DefaultValuedAttr<BoolAttr, "false">:$exclusive,
    DefaultValuedAttr<BoolAttr, "false">:$reverse);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Graph_TopKOp : Graph_Op<"top_k", [InferTypeOpAdaptor], Graph_LoopCode> {
  let summary = "the k largest (or smallest) along the last dim, sorted, and their i64 indices; lower index first among equals, NaN above every number";
  let description = [{
    Not `sorted`, the same elements stand in the order of their indices, which
    costs less. By `magnitude`, floats are ordered by their absolute values.

    Constraints: (C1) 1 <= k <= size of the last dim; (C2) by magnitude, floats.
  }];
  let arguments = (ins Graph_Tensor:$operand, I64Attr:$k,
    DefaultValuedAttr<BoolAttr, "true">:$largest,
    DefaultValuedAttr<BoolAttr, "true">:$sorted,
    DefaultValuedAttr<BoolAttr, "false">:$magnitude);
  let results = (outs Graph_Tensor:$values, Graph_IntTensor:$indices);
  let assemblyFormat = "$operand attr-dict `:` functional-type($operand, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::dist::OpCost getCost();
    double getInstructions();
  }];
}
def Graph_TakeTopKOp : Graph_Op<"take_top_k", [InferTypeOpAdaptor], Graph_LoopCode> {
  let summary = "the k largest magnitudes of each row of operand + left, their i16 indices, and the rest: the sum with x - x where x was taken";
  let description = [{
    What top-k compression does with a gradient and with what was left of it
    before, in one pass over both. Rows lie along the last dim. What is taken
    stands in the order of its indices; of equals the lower index is taken
    first, and NaN is above every number. A NaN or an infinity that is taken
    leaves NaN.
    ```mlir
    %values, %indices, %rest = graph.take_top_k %x, %left {k = 10 : i64} : (tensor<392x1024xf32>, tensor<392x1024xf32>) -> (tensor<392x10xf32>, tensor<392x10xi16>, tensor<392x1024xf32>)
    ```
    Constraints: (C1) floats of 32 or 64 bits; (C2) 1 <= k <= size of the last
    dim <= 32768.
  }];
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$left, I64Attr:$k);
  let results = (outs Graph_FloatTensor:$values, Graph_IntTensor:$indices, Graph_FloatTensor:$rest);
  let assemblyFormat = "$operand `,` $left attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::dist::OpCost getCost();
    double getInstructions();
    /// The rest lies where what was left before has lain.
    std::optional<unsigned> getReplacedOperand(unsigned result) {
      return result == 2 ? std::optional(1u) : std::nullopt;
    }
  }];
}
#endif
