//===- Annotations.cpp - All shardings of a module -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Interchange/Annotations.h"

using namespace mlir;
using namespace mlir::dist;

FailureOr<Annotations> Annotations::collect(ModuleOp module, StringRef pass) {
  Annotations all;
  all.mesh = findMesh(module);
  if (!all.mesh) {
    module.emitError() << pass << ": expected a module with a dist.mesh";
    return failure();
  }
  WalkResult walked = module.walk([&](Operation *op) {
    if (isa<CollectiveOpInterface>(op)) {
      op->emitError() << pass
                      << ": expected a module before dist-partition, but got a "
                         "collective";
      return WalkResult::interrupt();
    }
    if (auto reshard = dyn_cast<ReshardOp>(op)) {
      all.reshards.push_back(reshard);
      return WalkResult::advance();
    }
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      if (function.isExternal())
        return WalkResult::advance();
      if (!function.getBody().hasOneBlock()) {
        function.emitError() << pass << ": expected '" << function.getSymName()
                             << "' to have one block, but got "
                             << function.getBody().getBlocks().size();
        return WalkResult::interrupt();
      }
      for (BlockArgument argument : function.getArguments())
        if (ShardingAttr sharding = findSharding(argument))
          all.values.push_back({argument, sharding});
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        if (auto sharding = function.getResultAttrOfType<ShardingAttr>(
                i, DistDialect::kSharding))
          all.results.push_back({function, i, sharding});
      return WalkResult::advance();
    }
    for (Value result : op->getResults())
      if (ShardingAttr sharding = findSharding(result))
        all.values.push_back({result, sharding});
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  return all;
}

void Annotations::strip() {
  for (OfValue &of : values) {
    if (Operation *op = of.value.getDefiningOp()) {
      op->removeAttr(DistDialect::kShardings);
      continue;
    }
    auto argument = cast<BlockArgument>(of.value);
    cast<func::FuncOp>(argument.getOwner()->getParentOp())
        .removeArgAttr(argument.getArgNumber(), DistDialect::kSharding);
  }
  for (OfResult &of : results)
    of.function.removeResultAttr(
        of.result,
        StringAttr::get(of.function.getContext(), DistDialect::kSharding));
  for (ReshardOp reshard : reshards)
    reshard->removeAttr(DistDialect::kShardings);
}

FailureOr<MeshOp> mlir::dist::createMesh(Operation *other, StringRef name,
                                         ArrayAttr axisNames,
                                         ArrayRef<int64_t> axisSizes) {
  auto module = other->getParentOfType<ModuleOp>();
  if (MeshOp mesh = findMesh(module)) {
    auto error = other->emitError()
                 << "expected one mesh, but got a second one";
    error.attachNote(mesh.getLoc()) << "the first one";
    return failure();
  }
  OpBuilder builder(other);
  auto mesh = MeshOp::create(builder, other->getLoc(), name, axisNames,
                             builder.getDenseI64ArrayAttr(axisSizes));
  return mesh;
}
