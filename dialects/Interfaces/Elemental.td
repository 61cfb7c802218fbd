//===- Elemental.td - Interface of generated code -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_ELEMENTAL_TD
#define DIALECTS_INTERFACES_ELEMENTAL_TD
include "mlir/IR/OpBase.td"

def ElementalOpInterface : OpInterface<"ElementalOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    The op as scalar code over arith, math and scf: what the fused kernels are
    made of. An elemental op says how one element of a result is computed; any
    group of elemental ops fuses into one loop nest. An op that is not (scatter,
    top-k, scans) emits its own loops over memrefs and is a kernel by itself.

    Scalars have the *compute type* of a tensor's element type
    (`getComputeType`): f16 and bf16 are computed in f32, integers are signless;
    signedness comes from the op's tensor types.
  }];
  let methods = [
    InterfaceMethod<[{ Whether `emitElement` can be called. }],
      "bool", "isElemental", (ins), "", "return true;">,
    InterfaceMethod<[{
        One element of result `result` at `indices` (index values, one a dim).
        `load(i, indices)` gives an element of operand i. May build scf ops
        (reductions do). Loads must stay within the operand's bounds.
      }], "::mlir::Value", "emitElement",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "unsigned":$result, "::mlir::ValueRange":$indices,
           "::mlir::dist::ElementLoader":$load)>,
    InterfaceMethod<[{
        How many rows the loops of `emitLoops` have: slices of the results along
        their first dim that depend on no other slice, so that threads compute
        some each, with equal bits; 1 where there are none.
      }], "int64_t", "getLoopRows", (ins), "", "return 1;">,
    InterfaceMethod<[{
        The op over memrefs of the tensors' storage types, serially: its rows
        from `begin` to `end` (index values). Only for ops that are not
        elemental.
      }], "::llvm::LogicalResult", "emitLoops",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::ValueRange":$operands, "::mlir::ValueRange":$results,
           "::mlir::Value":$begin, "::mlir::Value":$end), "", [{
        return ::mlir::failure();
      }]>,
  ];
}
#endif
