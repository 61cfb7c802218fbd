//===- PlaceServerVariables.cpp - Which server has which variable ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/ServerPart.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Analysis/VariableUpdates.h"
#include "passes/Strategy/Annotate.h"
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

/// Into how many parts a variable is cut: tf.distribute's three ways.
struct Partitioner {
  enum class Kind { None, Fixed, MinSize, MaxSize };
  Kind kind = Kind::None;
  int64_t number = 0, most = 0; // most 0: any

  LogicalResult parse(StringRef text, int64_t servers);
  int64_t countParts(RankedTensorType type) const;
};

struct PlaceServerVariablesPass
    : mlir::dist::impl::PlaceServerVariablesPassBase<PlaceServerVariablesPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult verifyState(const VariableUpdates &updates);
};
} // namespace

/// KIND=N[:max=N]; fails on anything else.
LogicalResult Partitioner::parse(StringRef text, int64_t servers) {
  if (text.empty())
    return success();
  auto [first, rest] = text.split(':');
  auto [name, value] = first.split('=');
  kind = llvm::StringSwitch<Kind>(name)
             .Case("fixed", Kind::Fixed)
             .Case("min-size", Kind::MinSize)
             .Case("max-size", Kind::MaxSize)
             .Default(Kind::None);
  if (kind == Kind::MinSize)
    most = servers;
  bool isGood =
      kind != Kind::None && !value.getAsInteger(10, number) && number >= 1;
  if (text.contains(':'))
    isGood &= kind != Kind::Fixed && rest.consume_front("max=") &&
              !rest.getAsInteger(10, most) && most >= 1;
  return success(isGood);
}

int64_t Partitioner::countParts(RankedTensorType type) const {
  if (kind == Kind::None || type.getRank() == 0 || type.getNumElements() == 0)
    return 1;
  int64_t rows = type.getDimSize(0), bytes = getByteSize(type);
  int64_t parts = number;
  if (kind == Kind::MinSize)
    parts = bytes / number;
  if (kind == Kind::MaxSize) {
    int64_t bytesOfRow = std::max<int64_t>(1, bytes / rows);
    int64_t rowsOfPart = std::max<int64_t>(1, number / bytesOfRow);
    parts = llvm::divideCeil(rows, rowsOfPart);
  }
  if (most > 0)
    parts = std::min(parts, most);
  return std::clamp<int64_t>(parts, 1, rows);
}

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
  Partitioner cutting;
  if (failed(cutting.parse(partitioner, servers)))
    return fail("--partitioner: expected fixed=K, min-size=BYTES[:max=N] or "
                "max-size=BYTES[:max=N], but got '" +
                partitioner + "'");
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
    int64_t count = cutting.countParts(type);
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
                ": some would have nothing; give fewer --servers, or a "
                "--partitioner that cuts variables");
}
