//===- SplitPortions.cpp - A program for each part of the batch -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Portion.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Interfaces/Signature.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Partition/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_SPLITPORTIONSPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct SplitPortionsPass
    : mlir::dist::impl::SplitPortionsPassBase<SplitPortionsPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult check(MeshOp mesh);
};
} // namespace

LogicalResult SplitPortionsPass::check(MeshOp mesh) {
  auto fail = [&] { return getOperation().emitError("dist-split-portions: "); };
  if (!mesh)
    return fail() << "expected a mesh; run dist-create-mesh first";
  int64_t positions = mesh.getAxisSize(axis.getValue());
  if (positions == 0)
    return fail() << "the mesh has no axis '" << axis.getValue() << "'";
  if (int64_t(weights.size()) != positions)
    return fail() << "expected a weight for each of the " << positions
                  << " positions along '" << axis.getValue() << "', but got "
                  << weights.size();
  if (llvm::any_of(*weights, [](int64_t weight) { return weight < 1; }))
    return fail() << "expected weights >= 1";
  // A program's ranks are neighbours.
  if (cast<StringAttr>(mesh.getAxisNames()[0]).getValue() !=
      StringRef(axis.getValue()))
    return fail() << "expected '" << axis.getValue()
                  << "', which has weights, to be the mesh's first axis";
  return success();
}

/// A copy of the entry that knows its portion.
static void addPortion(func::FuncOp entry, const Portion &portion) {
  OpBuilder builder(entry);
  auto copy = cast<func::FuncOp>(builder.clone(*entry));
  copy.setSymName(
      (entry.getSymName() + "_portion" + Twine(portion.position)).str());
  copy->setAttr(kEntryAttr, builder.getStringAttr(entry.getSymName()));
  copy->setAttr(kPortionAttr, getPortionAttr(portion));
  Signature signature(copy);
  for (Signature::Ports *ports : {&signature.arguments, &signature.results})
    for (auto [number, attributes] : llvm::enumerate(ports->attributes))
      attributes.set(kEntryIndexAttr, builder.getI64IntegerAttr(number));
  signature.apply();
}

void SplitPortionsPass::runOnOperation() {
  if (weights.empty())
    return markAllAnalysesPreserved();
  ModuleOp module = getOperation();
  if (failed(check(findMesh(module))))
    return signalPassFailure();
  auto name = StringAttr::get(&getContext(), axis.getValue());
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (function.isExternal())
      continue;
    for (int64_t position = 0; position < int64_t(weights.size()); ++position)
      addPortion(function, Portion{name, position, *weights});
    function.erase();
  }
}
