//===- PlaceHostVariables.cpp - Central storage as annotations ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Stage.h"
#include "passes/Strategy/Annotate.h"
#include "passes/Strategy/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_PLACEHOSTVARIABLESPASS
#include "passes/Strategy/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct PlaceHostVariablesPass
    : mlir::dist::impl::PlaceHostVariablesPassBase<PlaceHostVariablesPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void PlaceHostVariablesPass::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(getMesh(module, "dist-place-host-variables")))
    return signalPassFailure();
  setProgramReason(module, "host", "--strategy=central-storage");
  auto host = PlacementAttr::get(&getContext(), Placement::Host);
  for (auto variable : module.getOps<graph::VariableOp>()) {
    if (variable.getSynchronization() != graph::Synchronization::OnWrite)
      continue;
    if (ShardingAttr sharding = getVariableSharding(variable);
        sharding && !sharding.splitsNoDim()) {
      variable.emitOpError()
          << "cannot be placed on the host: it is split as " << sharding
          << "; leave out the strategy that splits variables";
      return signalPassFailure();
    }
    variable->setAttr(kPlacementAttr, host);
  }
}
