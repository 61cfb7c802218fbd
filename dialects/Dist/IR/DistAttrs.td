//===- DistAttrs.td - Shardings and tokens -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_DISTATTRS_TD
#define DIALECTS_DIST_IR_DISTATTRS_TD
include "dialects/Dist/IR/DistBase.td"

def Dist_DimShardingAttr : AttrDef<Dist_Dialect, "DimSharding"> {
  let mnemonic = "dim";
  let summary = "the axes one tensor dim is split over, major to minor";
  let description = [{
    An open dim (`?` after the axes) may be split further by propagation, a
    closed one may not: `{"data", ?}`. With a priority (`{"data"}p1`; none is
    p0) the dim takes part in propagation only after all of lower number have
    spread.
  }];
  let parameters = (ins ArrayRefParameter<"StringAttr">:$axes, "bool":$open,
    "int64_t":$priority);
  let skipDefaultBuilders = 1;
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<::mlir::StringAttr>":$axes,
      "bool":$open, CArg<"int64_t", "0">:$priority), [{
    return $_get($_ctxt, axes, open, priority);
  }]>];
  let hasCustomAssemblyFormat = 1;
}

def Dist_ShardingAttr : AttrDef<Dist_Dialect, "Sharding"> {
  let mnemonic = "sharding";
  let summary = "how a tensor is laid out over a mesh";
  let description = [{
    One entry a dim, and the axes over which the ranks hold partial sums:
    ```mlir
    #dist.sharding<@mesh, [{"data"}, {?} ], unreduced = {"model"}>
    ```
    Ranks along axes that are not named hold equal copies. Axes in `replicated`
    stay so: propagation adds them to no open dim. `"model":(2)4` is read as the
    name of an axis that is a part of another, `"model:(2)4"` (see dist.mesh).
  }];
  let parameters = (ins "FlatSymbolRefAttr":$mesh,
    ArrayRefParameter<"DimShardingAttr">:$dims,
    OptionalArrayRefParameter<"StringAttr">:$unreduced,
    OptionalArrayRefParameter<"StringAttr">:$replicated);
  let builders = [AttrBuilderWithInferredContext<(ins
      "::mlir::FlatSymbolRefAttr":$mesh,
      "::llvm::ArrayRef<::llvm::SmallVector<::mlir::StringAttr>>":$dimAxes,
      CArg<"::llvm::ArrayRef<::mlir::StringAttr>", "{}">:$unreduced), [{
    return $_get(mesh.getContext(), mesh,
                 getClosedDims(mesh.getContext(), dimAxes), unreduced,
                 ::llvm::ArrayRef<::mlir::StringAttr>());
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Closed dims that are split over `dimAxes`.
    static ::llvm::SmallVector<DimShardingAttr>
    getClosedDims(::mlir::MLIRContext *context,
                  ::llvm::ArrayRef<::llvm::SmallVector<StringAttr>> dimAxes);
    /// A closed sharding that splits nothing.
    static ShardingAttr getWhole(FlatSymbolRefAttr mesh, unsigned numDims);
    /// One that splits nothing yet, all dims open, but never over `replicated`.
    static ShardingAttr getOpen(FlatSymbolRefAttr mesh, unsigned numDims,
                                ::llvm::ArrayRef<StringAttr> replicated);
    unsigned getNumDims() const { return getDims().size(); }
    ::llvm::ArrayRef<StringAttr> getAxes(unsigned dim) const {
      return getDims()[dim].getAxes();
    }
    bool isOpen(unsigned dim) const { return getDims()[dim].getOpen(); }
    bool isUnreducedOver(StringAttr axis) const {
      return ::llvm::is_contained(getUnreduced(), axis);
    }
    /// Whether no dim is split (it may be unreduced).
    bool splitsNoDim() const;
    /// Whether some dim is split over `axis`.
    bool splitsOver(StringAttr axis) const;
    ShardingAttr withUnreduced(::llvm::ArrayRef<StringAttr> axes) const;
    int64_t getPriority(unsigned dim) const {
      return getDims()[dim].getPriority();
    }
    /// The same with dim `dim` split over `axes`, and closed; its priority stays
    /// what it is, unless another is given.
    ShardingAttr withDim(unsigned dim, ::llvm::ArrayRef<StringAttr> axes,
                         std::optional<int64_t> priority = std::nullopt) const;
    ShardingAttr withoutReplicated() const;
    /// The same with all dims closed, which makes `replicated` superfluous.
    /// Priorities stay: they say when what is split spreads.
    ShardingAttr closed() const;
    /// Whether both split the dims over the same axes.
    bool hasSameDims(ShardingAttr other) const;
  }];
}

def Dist_PlacementAttr : EnumAttr<Dist_Dialect, Dist_Placement, "placement"> {
  let assemblyFormat = "`<` $value `>`";
}

def Dist_TokenType : TypeDef<Dist_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "a collective in flight, and the types it gives";
  let parameters = (ins ArrayRefParameter<"Type">:$results);
  let assemblyFormat = "`<` $results `>`";
}
#endif // DIALECTS_DIST_IR_DISTATTRS_TD
