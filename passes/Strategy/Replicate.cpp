//===- Replicate.cpp - Data parallelism as annotations -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Strategy/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_REPLICATEPASS
#include "passes/Strategy/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct ReplicatePass : mlir::dist::impl::ReplicatePassBase<ReplicatePass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult createMesh();
  LogicalResult annotateVariable(graph::VariableOp variable);
  LogicalResult annotateFunction(func::FuncOp function);
  /// The sharding of an argument or result with attributes `attributes`; null
  /// after an error.
  ShardingAttr getSharding(func::FuncOp function, StringRef what,
                           unsigned number, Type type,
                           DictionaryAttr attributes);

  MeshOp mesh;
  FlatSymbolRefAttr meshName;
  SmallVector<StringAttr> replicaAxes;
};
} // namespace

LogicalResult ReplicatePass::createMesh() {
  ModuleOp module = getOperation();
  SmallVector<Attribute> names;
  SmallVector<int64_t> sizes;
  SmallVector<NamedAttribute> reasons;
  Builder builder(&getContext());
  for (const std::string &axis : axes) {
    auto [name, sizeText] = StringRef(axis).split(':');
    int64_t size;
    if (name.empty() || sizeText.getAsInteger(10, size) || size < 1)
      return module.emitError() << "dist-replicate: expected axes as NAME:SIZE "
                                   "with a size >= 1, but got '"
                                << axis << "'";
    names.push_back(builder.getStringAttr(name));
    sizes.push_back(size);
    reasons.push_back(builder.getNamedAttr(
        name, builder.getStringAttr("--strategy=" + strategy.getValue() +
                                    " splits the batch over '" + name + "'")));
  }
  if (findMesh(module))
    return module.emitError()
           << "dist-replicate: expected a module without a mesh";
  auto atStart = OpBuilder::atBlockBegin(module.getBody());
  mesh = MeshOp::create(atStart, module.getLoc(), "mesh",
                        builder.getArrayAttr(names),
                        builder.getDenseI64ArrayAttr(sizes));
  mesh->setAttr("why", builder.getDictionaryAttr(reasons));
  meshName = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  for (Attribute name : names)
    replicaAxes.push_back(cast<StringAttr>(name));
  return success();
}

LogicalResult ReplicatePass::annotateVariable(graph::VariableOp variable) {
  auto type = cast<RankedTensorType>(variable.getType());
  auto sharding = ShardingAttr::getWhole(meshName, type.getRank());
  if (variable.getSynchronization() == graph::Synchronization::OnRead) {
    int64_t replicas = mesh.getNumRanks();
    if (variable.getAggregation() == graph::Aggregation::Sum) {
      sharding = sharding.withUnreduced(replicaAxes);
    } else if (variable.getAggregation() == graph::Aggregation::Mean) {
      if (type.getRank() == 0 || type.getDimSize(0) != replicas)
        return variable.emitOpError()
               << "expected dim 0 of an ON_READ variable with MEAN aggregation "
                  "to have one row for each of the "
               << replicas << " replicas, but got " << type;
      SmallVector<SmallVector<StringAttr>> dims(type.getRank());
      dims[0] = replicaAxes;
      sharding = ShardingAttr::get(meshName, dims);
    } else {
      return variable.emitOpError()
             << "expected an ON_READ variable to have SUM or MEAN aggregation";
    }
  }
  variable.setShardingAttr(sharding);
  return success();
}

ShardingAttr ReplicatePass::getSharding(func::FuncOp function, StringRef what,
                                        unsigned number, Type type,
                                        DictionaryAttr attributes) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto fail = [&]() {
    auto diagnostic = function.emitOpError() << what << " " << number;
    if (attributes)
      if (auto name = attributes.getAs<StringAttr>("graph.name"))
        diagnostic << " (" << name << ")";
    return diagnostic;
  };
  if (!tensor)
    return fail() << ": expected a tensor, but got " << type, ShardingAttr();
  auto replicated = ShardingAttr::getWhole(meshName, tensor.getRank());
  if (!attributes)
    return replicated;
  if (auto name = attributes.getAs<FlatSymbolRefAttr>("graph.variable")) {
    auto variable = SymbolTable::lookupNearestSymbolFrom<graph::VariableOp>(
        function, name);
    if (!variable)
      return fail() << ": expected a graph.variable named " << name,
             ShardingAttr();
    return cast<ShardingAttr>(*variable.getSharding());
  }
  auto batchDim = attributes.getAs<IntegerAttr>("graph.batch_dim");
  if (!batchDim || batchDim.getInt() < 0)
    return replicated;
  int64_t dim = batchDim.getInt(), replicas = mesh.getNumRanks();
  if (dim >= tensor.getRank())
    return fail() << ": expected graph.batch_dim to be a dim of " << type,
           ShardingAttr();
  if (int64_t batch = tensor.getDimSize(dim); batch % replicas) {
    int64_t padded = (batch + replicas - 1) / replicas * replicas;
    return fail() << ": a batch of " << batch << " cannot be split over "
                  << replicas << " replicas; compile a partial entry for "
                  << padded << " examples, of which a mask tells the real ones",
           ShardingAttr();
  }
  SmallVector<SmallVector<StringAttr>> dims(tensor.getRank());
  dims[dim] = replicaAxes;
  return ShardingAttr::get(meshName, dims);
}

LogicalResult ReplicatePass::annotateFunction(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto sharding = getSharding(function, "argument", i,
                                function.getArgumentTypes()[i],
                                function.getArgAttrDict(i));
    if (!sharding)
      return failure();
    function.setArgAttr(i, DistDialect::kSharding, sharding);
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto sharding =
        getSharding(function, "result", i, function.getResultTypes()[i],
                    function.getResultAttrDict(i));
    if (!sharding)
      return failure();
    function.setResultAttr(i, DistDialect::kSharding, sharding);
  }
  return success();
}

void ReplicatePass::runOnOperation() {
  replicaAxes.clear();
  int64_t replicas = 1;
  for (const std::string &axis : axes) {
    int64_t size = 0;
    if (!StringRef(axis).split(':').second.getAsInteger(10, size))
      replicas *= size;
  }
  if (replicas == 1)
    return;
  if (failed(createMesh()))
    return signalPassFailure();
  for (auto variable : getOperation().getOps<graph::VariableOp>())
    if (failed(annotateVariable(variable)))
      return signalPassFailure();
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (failed(annotateFunction(function)))
      return signalPassFailure();
}
