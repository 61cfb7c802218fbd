//===- PlaceServerVariables.cpp - Which server has which variable ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/ServerPart.h"
#include "passes/Analysis/VariableUpdates.h"
#include "passes/Strategy/Annotate.h"
#include "passes/Strategy/Partitioner.h"
#include "passes/Strategy/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_PLACESERVERVARIABLESPASS
#include "passes/Strategy/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// More parts of one variable than this are an error: each is a variable.
constexpr int64_t kMostParts = 4096;

struct PlaceServerVariablesPass
    : mlir::dist::impl::PlaceServerVariablesPassBase<PlaceServerVariablesPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult verifyState(const VariableUpdates &updates);
};
} // namespace

/// What a worker's devices each have a row of is no value that servers hold;
/// and what a step gives, some server must be told.
LogicalResult
PlaceServerVariablesPass::verifyState(const VariableUpdates &updates) {
  DenseSet<Operation *> held;
  for (const VariableUpdate &update : updates.variables) {
    graph::VariableOp variable = update.variable;
    if (variable.getSynchronization() == graph::Synchronization::OnRead)
      return variable.emitOpError()
             << "'" << variable.getSymName()
             << "' has a value of its own on each of a worker's devices, and "
                "servers hold one; add --sync-batch-norm, or give a worker "
                "one device";
    held.insert(variable);
  }
  VariableTable table(getOperation());
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (!function.getSymName().starts_with("gradients"))
      continue;
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto symbol =
          function.getResultAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr);
      graph::VariableOp variable =
          symbol ? table.find(symbol) : graph::VariableOp();
      if (variable && !held.contains(variable) &&
          !llvm::is_contained({"metric", "counter"}, variable.getGroup()))
        return variable.emitOpError()
               << "'" << variable.getSymName()
               << "' has a new value after each step of a worker, which "
                  "@apply does not take; make it by "
                  "graph-apply-optimizer{separate independent-updates}";
    }
  }
  return success();
}

void PlaceServerVariablesPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto fail = [&](const Twine &message) {
    module.emitError() << "dist-place-server-variables: " << message;
    signalPassFailure();
  };
  if (servers < 1)
    return fail("expected at least 1 server, but got " + Twine(servers));
  FailureOr<Partitioner> cutting =
      Partitioner::parse(partitioner, servers, [&] {
        return std::move(module.emitError() << "dist-place-server-variables: ");
      });
  if (failed(cutting))
    return signalPassFailure();
  auto apply = module.lookupSymbol<func::FuncOp>("apply");
  if (!apply || apply.isExternal())
    return fail("the module has no function 'apply'; run "
                "graph-apply-optimizer{separate independent-updates} first");
  FailureOr<VariableUpdates> updates = findUpdates(apply);
  if (failed(updates) || failed(verifyState(*updates)))
    return signalPassFailure();
  int64_t next = 0;
  for (VariableUpdate &update : updates->variables) {
    graph::VariableOp variable = update.variable;
    RankedTensorType type = variable.getType();
    int64_t count = cutting->countParts(type);
    if (count > 1 && !update.isByRow) {
      addReason(variable, StringAttr::get(&getContext(), kServerPartsAttr),
                "whole: its update is not row by row");
      count = 1;
    }
    if (count > kMostParts)
      return fail("--partitioner: '" + variable.getSymName() + "' would be " +
                  Twine(count) + " parts, and at most " + Twine(kMostParts) +
                  " are possible; give fewer or larger ones");
    int64_t rows = type.getRank() ? type.getDimSize(0) : 1, begin = 0;
    SmallVector<ServerPart> parts;
    for (int64_t i = 0; i < count; ++i) {
      int64_t size = rows / count + (i < rows % count);
      parts.push_back({next++ % servers, begin, size});
      begin += size;
    }
    setServerParts(variable, parts);
  }
  if (next < servers)
    return fail(Twine(servers) + " servers for " + Twine(next) +
                (next == 1             ? " variable"
                 : partitioner.empty() ? " variables"
                                       : " parts of variables") +
                ": some would have nothing; give fewer servers, or a "
                "--partitioner that cuts variables");
}
