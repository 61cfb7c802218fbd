//===- WidenContractions.cpp - Narrow floats where they are slow ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Graph.h"
#include "passes/Lowering/Library/LibraryKernels.h"
#include "passes/Lowering/Passes.h"
#include "passes/Lowering/Library/Widening.h"

namespace mlir::dist {
#define GEN_PASS_DEF_WIDENCONTRACTIONSPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
struct WidenContractionsPass
    : mlir::dist::impl::WidenContractionsPassBase<WidenContractionsPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  bool isSlow(Type element) const;
};
} // namespace

bool WidenContractionsPass::isSlow(Type element) const {
  if (!isNarrow(element))
    return false;
  if (types == "auto")
    return ::dist::cpu::getMultiplySpeed(getDataType(element)) < 1;
  return types == "narrow" || types == (element.isBF16() ? "bf16" : "f16");
}

void WidenContractionsPass::runOnOperation() {
  getOperation().walk([&](Operation *op) {
    if (isa<ContractionOpInterface>(op) &&
        isSlow(getElementTypeOrSelf(op->getResult(0))))
      widenContraction(op);
  });
}
