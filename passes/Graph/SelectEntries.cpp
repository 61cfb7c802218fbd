//===- SelectEntries.cpp - The entries that are asked for -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/UnusedState.h"
#include "passes/Graph/Entry.h"
#include "passes/Graph/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::dist {
#define GEN_PASS_DEF_SELECTENTRIESPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
/// What users call an entry, and the functions that it may be.
struct EntryName {
  StringLiteral name;
  StringLiteral functions[2];
};

struct SelectEntriesPass
    : dist::impl::SelectEntriesPassBase<SelectEntriesPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult select(StringRef name, llvm::StringSet<> &kept);
};
} // namespace

static constexpr EntryName kEntries[] = {
    {"train", {"train_step", "train_step_partial"}},
    {"evaluate", {"eval_step", "eval_step_partial"}},
    {"predict", {"predict", "predict"}},
    {"gradients", {"gradients", "gradients_partial"}},
    {"apply", {"apply", "apply"}},
};

LogicalResult SelectEntriesPass::select(StringRef name,
                                        llvm::StringSet<> &kept) {
  ModuleOp module = getOperation();
  auto keep = [&](StringRef entry) {
    bool found = false;
    for (const EntryName &one : kEntries)
      if (one.name == entry)
        for (StringRef function : one.functions)
          if (findEntry(module, function)) {
            kept.insert(function);
            found = true;
          }
    return found;
  };
  if (llvm::none_of(kEntries, [&](auto &one) { return one.name == name; }))
    return module.emitError()
           << "--entries: expected train, evaluate, predict, gradients or "
              "apply, but got '"
           << name << "'";
  // An accumulated step is two entries.
  bool accumulates = name == "train" && !findEntry(module, "train_step") &&
                     !findEntry(module, "train_step_partial");
  bool found = accumulates ? keep("gradients") && keep("apply") : keep(name);
  if (found)
    return success();
  return module.emitError()
         << "--entries: there is no '" << name << "' to compile"
         << (name == "predict" ? "" : "; give --loss");
}

void SelectEntriesPass::runOnOperation() {
  getOperation().walk([](StopGradientOp op) {
    op.replaceAllUsesWith(op.getOperand());
    op.erase();
  });
  if (entries.empty())
    return;
  llvm::StringSet<> kept;
  for (const std::string &name : entries)
    if (failed(select(name, kept)))
      return signalPassFailure();
  for (auto function :
       llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
    if (!kept.contains(function.getSymName()))
      function.erase();
  // What came with the entries of training.
  eraseUnusedState(getOperation(),
                   {"slot", "counter", "accumulator", "metric"});
}
