//===- GraphMathFold.cpp - Element-wise ops: simplification -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Identities that derivatives and importers leave behind. Constants are folded
// by graph-fold, which evaluates any op; here are only the rules that need one
// constant operand or none. The sign of zero may change, as in the kernels.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

OpFoldResult NegOp::fold(FoldAdaptor) {
  if (auto inner = getOperand().getDefiningOp<NegOp>())
    return inner.getOperand();
  return {};
}

OpFoldResult AddOp::fold(FoldAdaptor) {
  if (isZero(getRhs()))
    return getLhs();
  if (isZero(getLhs()))
    return getRhs();
  return {};
}

OpFoldResult SubOp::fold(FoldAdaptor) {
  if (isZero(getRhs()))
    return getLhs();
  return {};
}

OpFoldResult MulOp::fold(FoldAdaptor) {
  if (findSplat(getRhs()) == 1.0)
    return getLhs();
  if (findSplat(getLhs()) == 1.0)
    return getRhs();
  return {};
}

OpFoldResult DivOp::fold(FoldAdaptor) {
  if (findSplat(getRhs()) == 1.0)
    return getLhs();
  return {};
}

OpFoldResult SelectOp::fold(FoldAdaptor) {
  if (getOnTrue() == getOnFalse())
    return getOnTrue();
  if (std::optional<double> predicate = findSplat(getPredicate()))
    return *predicate != 0 ? getOnTrue() : getOnFalse();
  return {};
}

OpFoldResult ConvertOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  // There and back through a wider float.
  auto inner = getOperand().getDefiningOp<ConvertOp>();
  if (!inner || inner.getOperand().getType() != getType())
    return {};
  Type narrow = getType().getElementType();
  Type wide = inner.getType().getElementType();
  if (isa<FloatType>(narrow) && isa<FloatType>(wide) &&
      wide.getIntOrFloatBitWidth() > narrow.getIntOrFloatBitWidth())
    return inner.getOperand();
  return {};
}

namespace {
/// x^1, x^2 and x^3 as products: a call of pow per element costs as much as
/// many products.
struct ExpandSmallPower : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PowOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<double> exponent = findSplat(op.getRhs());
    if (!exponent || (*exponent != 1 && *exponent != 2 && *exponent != 3))
      return rewriter.notifyMatchFailure(op, "exponent is not 1, 2 or 3");
    GraphBuilder g(rewriter, op.getLoc());
    Value x = op.getLhs(), power = x;
    for (int n = 1; n < *exponent; ++n)
      power = g.mul(power, x);
    rewriter.replaceOp(op, power);
    return success();
  }
};
} // namespace

void PowOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *context) {
  patterns.add<ExpandSmallPower>(context);
}
