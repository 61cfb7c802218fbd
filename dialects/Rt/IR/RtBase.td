//===- RtBase.td - The rt dialect: how a step runs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_RT_IR_RTBASE_TD
#define DIALECTS_RT_IR_RTBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
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
    collectives in order, each on addresses in the arenas or on bindings; every
    op is one call of runtime/abi/entrypoints.def.

    `rt.device` on a function or program is the kind of the device that runs it:
    "cpu".
  }];
  let hasOperationAttrVerify = 1;
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Rt_Op<string mnemonic, list<Trait> traits = []>
    : Op<Rt_Dialect, mnemonic, traits>;

// The values are those of runtime/abi/abi.h.
def Rt_MemorySpace : I32EnumAttr<"MemorySpace", "where memory is", [
    I32EnumAttrCase<"Device", 0, "device">, I32EnumAttrCase<"Host", 1, "host">]> {
  let cppNamespace = "::mlir::dist::rt";
}

def Rt_Buffer : TypeDef<Rt_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "an address in a memory";
  let description = [{
    `device` is the memory of the device that runs the program, `host` that of
    the machine that it is in; a program of the mesh's host computes in the
    latter.
  }];
  let parameters = (ins EnumParameter<Rt_MemorySpace>:$space);
  let assemblyFormat = "`<` $space `>`";
}

// The values are those of runtime/abi/abi.h, names those of the dist ops.
def Rt_CollectiveKind : I32EnumAttr<"CollectiveKind", "what ranks do together", [
    I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
    I32EnumAttrCase<"AllGather", 1, "all_gather">,
    I32EnumAttrCase<"AllSlice", 2, "all_slice">,
    I32EnumAttrCase<"ReduceScatter", 3, "reduce_scatter">,
    I32EnumAttrCase<"AllToAll", 4, "all_to_all">,
    I32EnumAttrCase<"Permute", 5, "permute">,
    I32EnumAttrCase<"Broadcast", 6, "broadcast">,
    I32EnumAttrCase<"Send", 7, "send">, I32EnumAttrCase<"Recv", 8, "recv">,
    I32EnumAttrCase<"Reduce", 9, "reduce">,
    I32EnumAttrCase<"Barrier", 10, "barrier">]> {
  let cppNamespace = "::mlir::dist::rt";
}

// Named as the manifest's LibraryKernel.Kind.
def Rt_LibraryKind : I32EnumAttr<"LibraryKind", "what a kernel of the library computes", [
    I32EnumAttrCase<"Conv", 0, "conv">,
    I32EnumAttrCase<"ConvInputGrad", 1, "conv_input_grad">,
    I32EnumAttrCase<"ConvFilterGrad", 2, "conv_filter_grad">,
    I32EnumAttrCase<"Matmul", 3, "matmul">,
    I32EnumAttrCase<"Reorder", 4, "reorder">]> {
  let cppNamespace = "::mlir::dist::rt";
}
// Of the memories of such a kernel; packed ones are bytes.
def Rt_LibraryType : I32EnumAttr<"LibraryType", "an element type of the library", [
    I32EnumAttrCase<"F32", 0, "f32">, I32EnumAttrCase<"F64", 1, "f64">,
    I32EnumAttrCase<"F16", 2, "f16">, I32EnumAttrCase<"BF16", 3, "bf16">,
    I32EnumAttrCase<"I8", 4, "i8">]> {
  let cppNamespace = "::mlir::dist::rt";
}

def Rt_PieceAttr : AttrDef<Rt_Dialect, "Piece"> {
  let mnemonic = "piece";
  let summary = "one tensor of a collective, as a dist_rt_piece of the ABI";
  let description = [{
    `blocks` is how many outer blocks, how many rows of each, and the bytes of
    one; `from` and `to` are the strides in bytes between outer blocks, between
    rows, and between what concerns two ranks of the group.
    ```mlir
    #rt.piece<f32 [4, 1, 64] from [64, 0, 0] to [128, 0, 64]>
    ```
  }];
  let parameters = (ins "Type":$elementType, ArrayRefParameter<"int64_t">:$blocks,
    ArrayRefParameter<"int64_t">:$from, ArrayRefParameter<"int64_t">:$to);
  let assemblyFormat = "`<` $elementType `[` $blocks `]` `from` `[` $from `]` `to` `[` $to `]` `>`";
  let genVerifyDecl = 1;
}

#endif
