//===- RtBase.td - The rt dialect: how a step runs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_RT_IR_RTBASE_TD
#define DIALECTS_RT_IR_RTBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::mlir::dist::rt";
  let summary = "Kernels, buffers and the calls of the runtime";
  let description = [{
    Two levels. Over tensors, `rt.fused` and `rt.library` say which ops become
    one kernel each; `rt.kernel` is such a kernel once for all its uses. Over
    buffers, `rt.program` is a step function: launches, library calls and
    collectives in order, each on addresses in the arena or on bindings; every
    op is one call of runtime/abi/entrypoints.def.
  }];
  let useDefaultTypePrinterParser = 1;
}

class Rt_Op<string mnemonic, list<Trait> traits = []>
    : Op<Rt_Dialect, mnemonic, traits>;

def Rt_Buffer : TypeDef<Rt_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "an address on the device";
}

#endif
