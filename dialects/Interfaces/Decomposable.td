//===- Decomposable.td - Interface of composite ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_DECOMPOSABLE_TD
#define DIALECTS_INTERFACES_DECOMPOSABLE_TD
include "mlir/IR/OpBase.td"

def DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    A composite (softmax, layer_norm, batch_norm, cross_entropy, ...) as simpler
    ops. The lowering decomposes the composites that no library kernel takes
    and fuses the parts.
  }];
  let methods = [
    InterfaceMethod<[{ Appends one replacement a result. }],
      "::llvm::LogicalResult", "decompose",
      (ins "::mlir::OpBuilder &":$builder,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$replacements)>,
    InterfaceMethod<[{
        The dim of operand 0 of which the op needs a maximum and sums alone, so
        that what it decomposes to takes the dim in parts; none where each
        result needs all of the dim.
      }],
      "::std::optional<unsigned>", "getDimTakenInParts", (ins), "",
      "return std::nullopt;">,
  ];
}
#endif
