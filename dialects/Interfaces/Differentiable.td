//===- Differentiable.td - Interface of derivatives -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_DIFFERENTIABLE_TD
#define DIALECTS_INTERFACES_DIFFERENTIABLE_TD
include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    Reverse-mode derivative as ops of the same set, so that derivatives of
    derivatives need nothing new.
  }];
  let methods = [
    InterfaceMethod<[{
        Appends one value an operand to `cotangents`: the cotangent of that
        operand, of its type, or null where it is zero (integers, predicates,
        operands the result is locally constant in). `resultCotangents` has one
        value a result, null where zero; at least one is not null. `wanted[i]`
        is false when operand i's cotangent will not be used: push null and
        build nothing for it.
      }], "::llvm::LogicalResult", "differentiate",
      (ins "::mlir::OpBuilder &":$builder,
           "::mlir::ValueRange":$resultCotangents,
           "::llvm::ArrayRef<bool>":$wanted,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$cotangents)>,
  ];
}
#endif
