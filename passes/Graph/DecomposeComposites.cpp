//===- DecomposeComposites.cpp - Composites as primitive ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Graph/Entry.h"
#include "passes/Graph/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DECOMPOSECOMPOSITESPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
struct DecomposeCompositesPass
    : dist::impl::DecomposeCompositesPassBase<DecomposeCompositesPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  bool isWanted(Operation *op) const {
    if (!isa<DecomposableOpInterface>(op))
      return false;
    StringRef mnemonic = op->getName().stripDialect();
    return only.empty() || llvm::is_contained(only, mnemonic);
  }
};
} // namespace

void DecomposeCompositesPass::runOnOperation() {
  // A part may be a composite again (batch_norm_inference could be written with
  // one): go on until nothing is left.
  SmallVector<Operation *> composites;
  do {
    composites.clear();
    getOperation().walk([&](Operation *op) {
      if (isWanted(op))
        composites.push_back(op);
    });
    for (Operation *op : composites) {
      OpBuilder builder(op);
      SmallVector<Value> replacements;
      if (failed(cast<DecomposableOpInterface>(op).decompose(builder,
                                                             replacements))) {
        op->emitOpError() << "cannot be decomposed at these types";
        return signalPassFailure();
      }
      op->replaceAllUsesWith(replacements);
      op->erase();
    }
  } while (!composites.empty());
  for (auto entry : getOperation().getOps<func::FuncOp>())
    if (!entry.isExternal())
      eraseDeadOps(entry);
}
