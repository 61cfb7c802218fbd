//===- Reference.td - Interface of the reference evaluation -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_REFERENCE_TD
#define DIALECTS_INTERFACES_REFERENCE_TD
include "mlir/IR/OpBase.td"

def ReferenceOpInterface : OpInterface<"ReferenceOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    Evaluation by plain loops: the oracle of every test, and the constant
    folder. Written for clarity, not speed.
  }];
  let methods = [
    InterfaceMethod<[{
        Appends one tensor a result, of the result's type. On failure emits an
        error on the op.
      }], "::llvm::LogicalResult", "evaluate",
      (ins "::llvm::ArrayRef<::mlir::dist::HostTensor>":$operands,
           "::llvm::SmallVectorImpl<::mlir::dist::HostTensor> &":$results)>,
  ];
}
#endif
