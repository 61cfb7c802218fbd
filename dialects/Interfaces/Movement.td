//===- Movement.td - Ops that only move elements -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_MOVEMENT_TD
#define DIALECTS_INTERFACES_MOVEMENT_TD
include "mlir/IR/OpBase.td"

def MovementOpInterface : OpInterface<"MovementOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    An op that computes nothing: each element of its result is one of operand
    0's as it is, or follows from the element's index alone. Passes ask how the
    elements move to know what takes memory, what may be repeated for nothing,
    and what a property of the operand says of the result.
  }];
  let methods = [
    InterfaceMethod<[{ Where the result's elements come from. }],
      "::mlir::dist::Movement", "getMovement", (ins)>,
  ];
}
#endif
