//===- Indexing.td - Interface of ops that index with integers -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_INDEXING_TD
#define DIALECTS_INTERFACES_INDEXING_TD
include "mlir/IR/OpBase.td"

def IndexingOpInterface : OpInterface<"IndexingOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    Which operand holds integers that number something (rows of a table, classes
    of a loss), and how many there are of it: what inputs are checked against
    before they run, and what trial inputs are drawn from.
  }];
  let methods = [
    InterfaceMethod<[{ None where this op compares with no such numbers. }],
      "::std::optional<::mlir::dist::IndexUse>", "getIndexUse", (ins)>,
  ];
}
#endif
