//===- Cost.td - Interface of costs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_COST_TD
#define DIALECTS_INTERFACES_COST_TD
include "mlir/IR/OpBase.td"

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{ What the op costs at its present (local) shapes. }];
  let methods = [
    InterfaceMethod<[{ Floating-point operations and bytes moved. }],
      "::mlir::dist::OpCost", "getCost", (ins), "", [{
        return ::mlir::dist::getElementwiseCost($_op.getOperation());
      }]>,
    InterfaceMethod<[{ Vector instructions an element, of the larger of operands and results, takes in generated code: as many as take the time of so many additions. }],
      "double", "getInstructions", (ins), "", [{ return 1; }]>,
  ];
}
#endif
