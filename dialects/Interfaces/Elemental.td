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
    One element of a result as scalar code over arith, math and scf: what the
    fused kernels are made of. Any group of elemental ops fuses into one loop
    nest. An op whose elements are not computed one by one has
    `LoopedOpInterface` instead.

    Scalars have the *compute type* of a tensor's element type
    (`getComputeType`): f16 and bf16 are computed in f32, integers are signless;
    signedness comes from the op's tensor types.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether `emitElement` can be called: not for a constant that lies in
        memory.
      }],
      "bool", "isElemental", (ins), "", "return true;">,
    InterfaceMethod<[{
        One element of result `result` at `indices` (index values, one a dim).
        `load(i, indices)` gives an element of operand i. May build scf ops
        (reductions do). Loads must stay within the operand's bounds.
      }], "::mlir::Value", "emitElement",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "unsigned":$result, "::mlir::ValueRange":$indices,
           "::mlir::dist::ElementLoader":$load)>,
  ];
}

def RowCodeOpInterface : OpInterface<"RowCodeOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    An op of one result that is computed a row of its last dim at a time, into
    memory of the kernel's own from which the other ops of the kernel read it.
    It is part of a kernel as an elemental op is, whose rows are its rows.
  }];
  let methods = [
    InterfaceMethod<[{
        The row at `row` (index values, one for each dim but the last), written
        to `memory`, a memref of one dim in the compute type. `load` as in
        `ElementalOpInterface`.
      }], "void", "emitRow",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::ValueRange":$row, "::mlir::dist::ElementLoader":$load,
           "::mlir::Value":$memory)>,
  ];
}

def LoopedOpInterface : OpInterface<"LoopedOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    An op that is a kernel by itself, since an element of its results depends on
    many operands at once (scatters, top-k, scans): its own loops over memrefs.
  }];
  let methods = [
    InterfaceMethod<[{
        How many rows the loops of `emitLoops` have: slices of the results along
        their first dim that depend on no other slice, so that threads compute
        some each, with equal bits; 1 where there are none.
      }], "int64_t", "getLoopRows", (ins)>,
    InterfaceMethod<[{
        The op over memrefs of the tensors' storage types, serially: its rows
        from `begin` to `end` (index values).
      }], "::llvm::LogicalResult", "emitLoops",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::ValueRange":$operands, "::mlir::ValueRange":$results,
           "::mlir::Value":$begin, "::mlir::Value":$end)>,
    InterfaceMethod<[{
        The operand in whose memory `result` may be written, since each of its
        elements is read before the result's is written there, and not again.
      }], "::std::optional<unsigned>", "getReplacedOperand",
      (ins "unsigned":$result), "", "return std::nullopt;">,
  ];
}
#endif
