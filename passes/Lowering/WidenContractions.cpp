//===- WidenContractions.cpp - Narrow floats where they are slow ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Graph.h"
#include "passes/Lowering/LibraryKernels.h"
#include "passes/Lowering/Passes.h"

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
  void widen(Operation *op);
};
} // namespace

bool WidenContractionsPass::isSlow(Type element) const {
  if (!element.isBF16() && !element.isF16())
    return false;
  if (types == "auto")
    return ::dist::cpu::getMultiplySpeed(getDataType(element)) < 1;
  return types == (element.isBF16() ? "bf16" : "f16");
}

void WidenContractionsPass::widen(Operation *op) {
  Value result = op->getResult(0);
  auto type = cast<RankedTensorType>(result.getType());
  OpBuilder b(op);
  Type wide = b.getF32Type();
  for (OpOperand &operand : op->getOpOperands())
    operand.set(ConvertOp::create(
        b, op->getLoc(),
        cast<RankedTensorType>(operand.get().getType()).clone(wide),
        operand.get()));
  result.setType(type.clone(wide));
  b.setInsertionPointAfter(op);
  auto narrow = ConvertOp::create(b, op->getLoc(), type, result);
  result.replaceAllUsesExcept(narrow, narrow);
}

void WidenContractionsPass::runOnOperation() {
  getOperation().walk([&](Operation *op) {
    if (isa<DotGeneralOp, ConvOp, ConvInputGradOp, ConvFilterGradOp>(op) &&
        isSlow(getElementTypeOrSelf(op->getResult(0))))
      widen(op);
  });
}
