//===- Contraction.td - Sums of products -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_CONTRACTION_TD
#define DIALECTS_INTERFACES_CONTRACTION_TD
include "mlir/IR/OpBase.td"

def ContractionOpInterface : OpInterface<"ContractionOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    Sums of products of an element of operand 0 with one of operand 1, of one
    element type (products of matrices, convolutions and their gradients): what
    libraries have kernels for, and what most of a model's time goes to.
  }];
}
#endif
