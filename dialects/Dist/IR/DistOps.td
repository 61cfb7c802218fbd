//===- DistOps.td - Mesh, reshard, collectives -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_DISTOPS_TD
#define DIALECTS_DIST_IR_DISTOPS_TD
include "dialects/Dist/IR/Collective.td"
include "dialects/Dist/IR/DistAttrs.td"
include "dialects/Interfaces/Reduction.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dist_Tensor : StaticShapeTensorOf<[AnyFloat, AnyInteger]>;

def Dist_MeshOp : Op<Dist_Dialect, "mesh", [Symbol]> {
  let summary = "the devices, arranged along named axes";
  let description = [{
    With a host there is one rank more, behind those of the axes: it holds
    variables and has a program of its own (dist-split-host).
    An axis may stand in parts, which shardings can name apart (Shardy's
    sub-axes): NAME:(PRE)SIZE has SIZE ranks, and PRE are those of the parts
    before it.
    Constraints: (C1) names are distinct and not empty. (C2) sizes are >= 1.
    (C3) a part's size is that of its name; the parts of an axis stand together,
    from PRE = 1 on, each with the product of those before as its PRE.
    ```mlir
    dist.mesh @mesh ["data"=2, "model"=2]
    dist.mesh @mesh ["data"=2] with host
    dist.mesh @mesh ["data"=2, "model:(1)2"=2, "model:(2)2"=2]  // "model" has 4
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axis_names,
    DenseI64ArrayAttr:$axis_sizes, UnitAttr:$host);
  let assemblyFormat = "$sym_name custom<MeshAxes>($axis_names, $axis_sizes) (`with` `host` $host^)? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Ranks along the axes.
    int64_t getNumRanks();
    /// These, and the host where there is one; it is the last.
    int64_t getNumRanksWithHost() { return getNumRanks() + getHost(); }
    /// Size of an axis; 0 if there is none of that name.
    int64_t getAxisSize(::llvm::StringRef name);
    /// Product of the sizes of `axes`.
    int64_t getGroupSize(::llvm::ArrayRef<::mlir::StringAttr> axes);
  }];
}

def Dist_ReshardOp : Op<Dist_Dialect, "reshard", [Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the same global tensor under another sharding";
  let description = [{
    Only before dist-partition, which turns it into collectives. The result has
    sharding `target`. Constraints: (C1) `target` fits the type and the mesh.
  }];
  let arguments = (ins Dist_Tensor:$operand, Dist_ShardingAttr:$target,
    StrAttr:$reason, DefaultValuedAttr<StrAttr, "\"\"">:$origin);
  let results = (outs Dist_Tensor:$result);
  let assemblyFormat = "$operand `to` $target `because` $reason attr-dict `:` type($result)";
}

class Dist_Collective<string mnemonic, string kind, list<string> own, list<Trait> traits = [Pure]>
    : Op<Dist_Dialect, mnemonic, traits # [
        DeclareOpInterfaceMethods<SymbolUserOpInterface>,
        DeclareOpInterfaceMethods<CollectiveOpInterface, own>]> {
  // Verified together for all collectives; see Collective.cpp.
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verifySymbolUses(::mlir::SymbolTableCollection &tables) {
      return ::mlir::dist::verifyCollective(getOperation(), tables);
    }
    ::mlir::dist::CollectiveKind $cppClass::getCollectiveKind() {
      return ::mlir::dist::CollectiveKind::}] # kind # [{;
    }
  }];
}
defvar Dist_ByReduction = "(`by` $reduction^)? ";
defvar Dist_CollectiveArgs = (ins FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes,
  StrAttr:$reason, StrAttr:$origin, DefaultValuedAttr<I64Attr, "-1">:$op_id);

defvar Dist_ByBoth = "(`by` $reduction^)? (`using` $algorithm^)? ";
defvar Dist_AlgorithmArg = (ins
  DefaultValuedAttr<Dist_AllReduceAlgorithm, "AllReduceAlgorithm::Auto">:$algorithm);

class Dist_CollectiveOp<string mnemonic, string kind, dag own, list<string> methods = [],
                        string options = "", dag last = (ins)> : Dist_Collective<mnemonic, kind, methods> {
  let arguments = !con((ins Variadic<Dist_Tensor>:$inputs), own, Dist_CollectiveArgs, last);
  let results = (outs Variadic<Dist_Tensor>:$outputs);
  let assemblyFormat = "$inputs `over` $mesh $axes " # options # "attr-dict `:` functional-type($inputs, $outputs)";
}

def Dist_AllReduceOp : Dist_CollectiveOp<"all_reduce", "AllReduce",
    (ins DefaultValuedAttr<Dist_Reduction, "Reduction::Sum">:$reduction),
    ["getSteps"], Dist_ByBoth, Dist_AlgorithmArg> {
  let summary = "each operand reduced over the group; every rank gets the result";
  let description = [{
    Before dist-partition its operands are global tensors that are unreduced
    over `axes`. Several operands are one transfer (a bucket). With `using` the
    communicator goes about it in that way, else as it finds best; the results
    are the same up to the order of the sums.
    Constraints: (C1) the axes are distinct and known to the mesh; (C2) reason
    and origin are not empty; (C3) results have the operands' types.
    ```mlir
    %1 = dist.all_reduce %0 over @mesh ["data"] {reason = "...", origin = "fc1"}
        : (tensor<784x128xf32>) -> tensor<784x128xf32>
    ```
  }];
}
def Dist_AllGatherOp : Dist_CollectiveOp<"all_gather", "AllGather", (ins DenseI64ArrayAttr:$dims)> {
  let summary = "the group's operands one after another along `dims[i]`";
  let description = [{
    Constraints: (C1), (C2) as all_reduce; (C3) `dims` has an entry an operand,
    within its dims; (C4) the result's dim is the operand's times the group's size.
  }];
}
def Dist_AllSliceOp : Dist_CollectiveOp<"all_slice", "AllSlice", (ins DenseI64ArrayAttr:$dims),
    ["isLocal"]> {
  let summary = "this rank's part of the operand along `dims[i]`: no transfer";
  let description = [{
    Constraints: (C1), (C2) as all_reduce; (C3) `dims` has an entry an operand,
    within its dims; (C4) the operand's dim is the result's times the group's size.
  }];
}
def Dist_ReduceScatterOp : Dist_CollectiveOp<"reduce_scatter", "ReduceScatter",
    (ins DenseI64ArrayAttr:$dims,
         DefaultValuedAttr<Dist_Reduction, "Reduction::Sum">:$reduction), [], Dist_ByReduction> {
  let summary = "all_reduce, of which each rank keeps its part along `dims[i]`";
  let description = [{ Constraints: as all_slice. }];
}
def Dist_AllToAllOp : Dist_CollectiveOp<"all_to_all", "AllToAll",
    (ins DenseI64ArrayAttr:$split_dims, DenseI64ArrayAttr:$concat_dims)> {
  let summary = "part j of rank i along split_dims goes to rank j, which puts the parts together along concat_dims";
  let description = [{
    Constraints: (C1), (C2) as all_reduce; (C3) both lists have an entry an
    operand, within its dims and different; (C4) sizes divide and multiply by
    the group's size.
  }];
}
def Dist_PermuteOp : Dist_CollectiveOp<"permute", "Permute", (ins DenseI64ArrayAttr:$sources)> {
  let summary = "rank i of the group gets the operand of rank sources[i]; zeros where that is -1";
  let description = [{
    Constraints: (C1), (C2), (C3) as all_reduce; (C4) one source a rank, each
    rank named at most once.
  }];
}
def Dist_BroadcastOp : Dist_CollectiveOp<"broadcast", "Broadcast", (ins I64Attr:$root)> {
  let summary = "every rank of the group gets the operand of rank `root`";
  let description = [{
    Constraints: (C1), (C2), (C3) as all_reduce; (C4) `root` is in the group.
  }];
}

// Between two ranks, for programs that differ by rank (the stages of a
// pipeline): where all ranks run one program, a shift is dist.permute. Neither
// is pure: what one rank sends, another waits for.
defvar Dist_PeerArgs = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$peer,
  ConfinedAttr<I64Attr, [IntNonNegative]>:$tag);
def Dist_SendOp : Dist_Collective<"send", "Send", ["crossesPrograms"], []> {
  let summary = "gives the operands to the rank at a position in the group";
  let description = [{
    The group is the ranks that differ from this one along `axes` only, so that
    one stage of a pipeline has the same text on all its ranks. Sends with one
    `tag` to one rank arrive in order. A send never waits for its `dist.recv`.
    Constraints: (C1), (C2) as all_reduce; (C3) at least one tensor; (C4) the
    peer is in the group.
    ```mlir
    dist.send %0 over @mesh ["pipe"] to 1 tag 3 {reason = "...", origin = "relu1"}
        : tensor<8x64xf32>
    ```
  }];
  let arguments = !con((ins Variadic<Dist_Tensor>:$inputs), Dist_PeerArgs, Dist_CollectiveArgs);
  let assemblyFormat = "$inputs `over` $mesh $axes `to` $peer `tag` $tag attr-dict `:` type($inputs)";
}
def Dist_RecvOp : Dist_Collective<"recv", "Recv", ["crossesPrograms"], []> {
  let summary = "takes what the rank at a position in the group sends";
  let description = [{
    Waits for the `dist.send` of the same tag and the same types.
    Constraints: as send.
    ```mlir
    %0 = dist.recv over @mesh ["pipe"] from 0 tag 3 {reason = "...", origin = "relu1"}
        : tensor<8x64xf32>
    ```
  }];
  let arguments = !con(Dist_PeerArgs, Dist_CollectiveArgs);
  let results = (outs Variadic<Dist_Tensor>:$outputs);
  let assemblyFormat = "`over` $mesh $axes `from` $peer `tag` $tag attr-dict `:` type($outputs)";
}

// Between the mesh's host and all other ranks, which run another program: the
// sending side has operands, the receiving one has results.
class Dist_HostTransferOp<string mnemonic, string kind, dag own, string options = "">
    : Dist_Collective<mnemonic, kind, ["crossesPrograms", "involvesHost"], []> {
  let arguments = !con((ins Variadic<Dist_Tensor>:$inputs), own, Dist_CollectiveArgs);
  let results = (outs Variadic<Dist_Tensor>:$outputs);
  let assemblyFormat = "$inputs `over` $mesh $axes " # options # "attr-dict `:` functional-type($inputs, $outputs)";
}
def Dist_HostBroadcastOp : Dist_HostTransferOp<"host_broadcast", "HostBroadcast", (ins)> {
  let summary = "every rank of the axes gets what the host gives";
  let description = [{
    The n-th of the host's program belongs to the n-th of the others'.
    Constraints: (C1), (C2) as all_reduce; (C3) it has operands or results, and
    not both; (C4) the mesh has a host; (C5) the axes are all of the mesh's.
    ```mlir
    dist.host_broadcast %w over @mesh ["data"] {...} : (tensor<4xf32>) -> ()   // on the host
    %w = dist.host_broadcast over @mesh ["data"] {...} : () -> tensor<4xf32>   // elsewhere
    ```
  }];
}
def Dist_HostReduceOp : Dist_HostTransferOp<"host_reduce", "HostReduce",
    (ins DefaultValuedAttr<Dist_Reduction, "Reduction::Sum">:$reduction), Dist_ByReduction> {
  let summary = "the host gets what the ranks of the axes give, reduced in their order";
  let description = [{
    Constraints: as host_broadcast.
    ```mlir
    dist.host_reduce %g over @mesh ["data"] {...} : (tensor<4xf32>) -> ()   // on a device
    %g = dist.host_reduce over @mesh ["data"] {...} : () -> tensor<4xf32>   // on the host
    ```
  }];
}

// Start forms: the work may overlap what stands between start and wait.
class Dist_StartOp<string mnemonic, string kind, dag own, string options = "",
                   list<string> methods = [], dag last = (ins)>
    : Op<Dist_Dialect, mnemonic, [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
        DeclareOpInterfaceMethods<CollectiveOpInterface, methods>]> {
  let arguments = !con((ins Variadic<Dist_Tensor>:$inputs), own, Dist_CollectiveArgs, last);
  let results = (outs Dist_TokenType:$token);
  let assemblyFormat = "$inputs `over` $mesh $axes " # options # "attr-dict `:` functional-type($inputs, $token)";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verifySymbolUses(::mlir::SymbolTableCollection &tables) {
      return ::mlir::dist::verifyCollective(getOperation(), tables);
    }
    ::mlir::dist::CollectiveKind $cppClass::getCollectiveKind() {
      return ::mlir::dist::CollectiveKind::}] # kind # [{;
    }
  }];
}
def Dist_AllReduceStartOp : Dist_StartOp<"all_reduce_start", "AllReduce",
    (ins DefaultValuedAttr<Dist_Reduction, "Reduction::Sum">:$reduction),
    Dist_ByBoth, ["getSteps"], Dist_AlgorithmArg> {
  let summary = "begins an all_reduce";
}
def Dist_AllGatherStartOp : Dist_StartOp<"all_gather_start", "AllGather", (ins DenseI64ArrayAttr:$dims)> {
  let summary = "begins an all_gather";
}
def Dist_ReduceScatterStartOp : Dist_StartOp<"reduce_scatter_start", "ReduceScatter",
    (ins DenseI64ArrayAttr:$dims,
         DefaultValuedAttr<Dist_Reduction, "Reduction::Sum">:$reduction), Dist_ByReduction> {
  let summary = "begins a reduce_scatter";
}
def Dist_WaitOp : Op<Dist_Dialect, "wait"> {
  let summary = "the results of a collective that was started";
  let description = [{
    Constraints: (C1) the result types are the token's. (C2) the token comes
    from a start op and is waited for once.
  }];
  let arguments = (ins Dist_TokenType:$token);
  let results = (outs Variadic<Dist_Tensor>:$outputs);
  let assemblyFormat = "$token attr-dict `:` functional-type($token, $outputs)";
  let hasVerifier = 1;
}
#endif // DIALECTS_DIST_IR_DISTOPS_TD
