//===- Reduction.td - How elements combine -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One enum for ops that reduce dims of a tensor, factors of a sharding rule and
// collectives. Included by files of ops, not by those of dialects' enums, which
// would define it again.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_REDUCTION_TD
#define DIALECTS_INTERFACES_REDUCTION_TD

include "mlir/IR/EnumAttr.td"

// The numbers are those of runtime/abi/abi.h.
def Dist_Reduction : I32EnumAttr<"Reduction", "how elements combine", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"Product", 3, "product">]> {
  let cppNamespace = "::mlir::dist";
}

#endif // DIALECTS_INTERFACES_REDUCTION_TD
