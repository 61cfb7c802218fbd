//===- ActivationGradients.cpp - Cheaper derivatives of relu and pools ----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/ActivationGradients.h"
#include "dialects/Graph/IR/GraphBuilder.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

static bool isPositiveMask(CompareOp compare) {
  return compare && compare.getPredicate() == ComparePredicate::GT &&
         isZero(compare.getRhs());
}

/// x > 0 is relu(x) > 0, so that x itself is not needed behind the relu.
static void useReluResult(ReluOp relu) {
  Value operand = relu.getOperand();
  for (OpOperand &use : llvm::make_early_inc_range(operand.getUses())) {
    auto compare = dyn_cast<CompareOp>(use.getOwner());
    if (use.getOperandNumber() != 0 || !isPositiveMask(compare) ||
        relu->getBlock() != compare->getBlock())
      continue;
    if (compare->isBeforeInBlock(relu))
      relu->moveBefore(compare);
    use.set(relu.getResult());
  }
}

/// The derivative of max_pool(y), masked by y > 0: where the pool's gradient is
/// not zero, y is what the pool gave. So the mask can be that of the pool's
/// result, which is smaller, and y is not needed.
static void moveMaskBehindPool(SelectOp select) {
  auto compare = select.getPredicate().getDefiningOp<CompareOp>();
  auto grad = select.getOnTrue().getDefiningOp<MaxPoolGradOp>();
  if (!isPositiveMask(compare) || !grad || !grad->hasOneUse() ||
      !isZero(select.getOnFalse()))
    return;
  auto pool = grad.getIndices().getDefiningOp<MaxPoolOp>();
  if (!pool || pool.getOperand() != compare.getLhs())
    return;
  OpBuilder b(grad);
  auto type = cast<RankedTensorType>(grad.getGrad().getType());
  Value zero = ConstantOp::create(b, select.getLoc(), type,
                                  cast<ElementsAttr>(b.getZeroAttr(type)));
  Value positive =
      CompareOp::create(b, compare.getLoc(), type.clone(b.getI1Type()),
                        ComparePredicate::GT, pool.getResult(), zero);
  Value masked = SelectOp::create(b, select.getLoc(), type, positive,
                                  grad.getGrad(), zero);
  grad.getGradMutable().assign(masked);
  select.getResult().replaceAllUsesWith(grad.getResult());
}

/// A pool's gradient hands every element on to one place: its sum over whole
/// windows is the sum of what it was given.
static void sumBeforePoolGrad(ReduceOp reduce) {
  auto grad = reduce.getOperand().getDefiningOp<MaxPoolGradOp>();
  if (!grad || reduce.getKind() != Reduction::Sum)
    return;
  for (auto [dim, size] : llvm::enumerate(grad.getWindow())) {
    // What a window chose in the padding goes nowhere.
    if (grad.getPadLow()[dim] != 0 || grad.getPadHigh()[dim] != 0)
      return;
    bool isPointwise = size == 1 && grad.getStrides()[dim] == 1;
    if (!isPointwise && !llvm::is_contained(reduce.getDims(), int64_t(dim)))
      return;
  }
  reduce.getOperandMutable().assign(grad.getGrad());
}

void mlir::dist::simplifyActivationGradients(func::FuncOp func) {
  func.walk(useReluResult);
  // Masks move first: sums then find the pool's gradient itself.
  func.walk(moveMaskBehindPool);
  func.walk(sumBeforePoolGrad);
}
