//===- DistBase.td - The dist dialect: where things live, what moves -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_DISTBASE_TD
#define DIALECTS_DIST_IR_DISTBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::mlir::dist";
  let summary = "Meshes of devices, shardings of tensors, and collectives";
  let description = [{
    Words used here and everywhere, each for one idea:
    - a mesh **axis** has a name and a size; a tensor **dim** is split over axes;
    - a **rank** is a device's number in the mesh (row-major over the axes);
    - a **group** is the set of ranks that differ only along the axes of a
      collective; a rank's **position** is its number within the group, or along
      one axis;
    - a **shard** is one rank's part of a tensor, equal in size to the others';
    - a **portion** is one position's part of the batch where devices are unequal
      and parts have weights;
    - an **unreduced** tensor is one whose value is the sum of what the ranks
      along its unreduced axes hold;
    - a **placement** says whose memory holds something: a device's or the host's;
    - a **place** is where in the model file something stems from;
    - a **peer** is another rank of the group in the same process; ranks
      **publish** a buffer so that peers read it where it lies;
    - variables are **tied** when several names of the model file mean one;
    - a **window** is one application of a convolution's or pool's kernel, a
      **tap** one element within it.

    A module has at most one `dist.mesh`; without one, there is one device.
    Function arguments and results carry `dist.sharding` and, once partitioned,
    `dist.global_type`. Ops carry `dist.shardings` (one a result) and
    `dist.origin` (the number of the op of the unpartitioned function that they
    come from).

    A pipeline adds: `dist.stage` on variables and functions (the chunk of the
    model they belong to; of a function, the position along the mesh axis `stage`
    whose program it is) and on ops of a chunk with another number than their
    function, `dist.microbatch` on ops (which copy they are; without a number: there will be
    one for each microbatch), `dist.backward` on such ops that are backward work,
    and on a stage's functions `dist.entry` (the entry that they are a part of)
    and, on arguments and results, `dist.entry_index` (their number in that
    entry). Until rt-expand-microbatches, one that has the copies of few
    microbatches, which show what those of the others are, has their number as
    `dist.shown_microbatches`.

    Variables on the host (`dist.placement = #dist.placement<host>`) are held by
    one rank more, behind those of the axes, which a `dist.mesh` *with host* has.
    A function whose `dist.placement` is the host is that rank's program; next to
    it, the one of `#dist.placement<device>` is all others'.

    Variables that parameter servers hold have `dist.server_parts`: for each part
    of their rows (along dim 0, in order) the server that holds it. Each server's
    program is a module of its own, of one device.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Discardable attributes; see the dialect's description.
    static constexpr llvm::StringLiteral kSharding = "dist.sharding";
    static constexpr llvm::StringLiteral kShardings = "dist.shardings";
    static constexpr llvm::StringLiteral kGlobalType = "dist.global_type";
    static constexpr llvm::StringLiteral kOrigin = "dist.origin";

    void registerAttributes();
    void registerTypes();
  }];
}

// The same sums in another order of messages; the numbers are abi.h's.
def Dist_AllReduceAlgorithm : I32EnumAttr<"AllReduceAlgorithm", "how an all_reduce goes about it", [
    I32EnumAttrCase<"Auto", 0, "auto">, I32EnumAttrCase<"Ring", 1, "ring">,
    I32EnumAttrCase<"ReduceToOne", 2, "reduce_to_one">,
    I32EnumAttrCase<"Exchange", 3, "exchange">, I32EnumAttrCase<"Gather", 4, "gather">,
    I32EnumAttrCase<"Parts", 5, "parts">,
    I32EnumAttrCase<"HalvingDoubling", 6, "halving_doubling">]> {
  let cppNamespace = "::mlir::dist";
}

def Dist_Placement : I32EnumAttr<"Placement", "whose memory something is in", [
    I32EnumAttrCase<"Device", 0, "device">, I32EnumAttrCase<"Host", 1, "host">]> {
  let cppNamespace = "::mlir::dist";
  let genSpecializedAttr = 0;
}

#endif // DIALECTS_DIST_IR_DISTBASE_TD
