//===- FunctionalizeState.cpp - Variables as arguments and results --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Graph/Entry.h"
#include "passes/Graph/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {
#define GEN_PASS_DEF_FUNCTIONALIZESTATEPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
struct FunctionalizeStatePass
    : dist::impl::FunctionalizeStatePassBase<FunctionalizeStatePass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

static LogicalResult functionalize(func::FuncOp entry, StateIndex &state,
                                   ArrayRef<VariableOp> variables) {
  if (entry.isExternal())
    return success();
  WalkResult nested = entry.walk([&](Operation *op) {
    if (!isa<ReadOp, AssignOp>(op) ||
        op->getBlock() == &entry.getBody().front())
      return WalkResult::advance();
    op->emitOpError() << "expected to stand in the function's own block; state "
                         "inside control flow cannot become an argument";
    return WalkResult::interrupt();
  });
  if (nested.wasInterrupted())
    return failure();

  DenseMap<StringAttr, VariableOp> used;
  for (Operation &op : entry.getBody().front()) {
    FlatSymbolRefAttr symbol;
    if (auto read = dyn_cast<ReadOp>(op))
      symbol = read.getVariableAttr();
    else if (auto assign = dyn_cast<AssignOp>(op))
      symbol = assign.getVariableAttr();
    if (symbol)
      used.try_emplace(symbol.getAttr());
  }
  if (!used.empty() &&
      failed(verifyOneBlock(entry, "graph-functionalize-state")))
    return failure();
  // Arguments in the module's order, so that entries agree on it. A variable
  // that is assigned without being read is an argument too: its storage.
  DenseMap<StringAttr, Value> current;
  for (VariableOp variable : variables) {
    auto it = used.find(variable.getSymNameAttr());
    if (it == used.end())
      continue;
    it->second = variable;
    current[it->first] = state.getArgument(entry, variable);
  }
  llvm::MapVector<StringAttr, Value> assigned;
  for (Operation &op : llvm::make_early_inc_range(entry.getBody().front())) {
    if (auto read = dyn_cast<ReadOp>(op)) {
      read.replaceAllUsesWith(current.at(read.getVariableAttr().getAttr()));
      read.erase();
    } else if (auto assign = dyn_cast<AssignOp>(op)) {
      StringAttr name = assign.getVariableAttr().getAttr();
      assigned[name] = current[name] = assign.getValue();
      assign.erase();
    }
  }
  for (VariableOp variable : variables)
    if (auto it = assigned.find(variable.getSymNameAttr());
        it != assigned.end())
      state.setResult(entry, variable, it->second);
  return success();
}

void FunctionalizeStatePass::runOnOperation() {
  SmallVector<VariableOp> variables(getOperation().getOps<VariableOp>());
  StateIndex state(getOperation());
  for (auto entry : getOperation().getOps<func::FuncOp>())
    if (failed(functionalize(entry, state, variables)))
      return signalPassFailure();
  state.finish();
}
