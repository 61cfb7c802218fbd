//===- Fold.cpp - Evaluates what depends on constants alone -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/IR/Matchers.h"
#include "passes/Graph/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {
#define GEN_PASS_DEF_FOLDPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// The value as an attribute; one element if all are the same bits.
static DenseElementsAttr getAttribute(const HostTensor &tensor) {
  DenseElementsAttr dense = tensor.toAttribute();
  if (dense.isSplat() || dense.empty())
    return dense;
  auto values = dense.getValues<Attribute>();
  Attribute first = *values.begin();
  for (Attribute value : values)
    if (value != first)
      return dense;
  return DenseElementsAttr::get(tensor.getType(), first);
}

namespace {
struct FoldConstantOperands : OpInterfaceRewritePattern<ReferenceOpInterface> {
  FoldConstantOperands(MLIRContext *context, int64_t maxElements)
      : OpInterfaceRewritePattern(context), maxElements(maxElements) {}

  LogicalResult matchAndRewrite(ReferenceOpInterface op,
                                PatternRewriter &rewriter) const override {
    if (op->hasTrait<OpTrait::ConstantLike>() || op->getNumOperands() == 0)
      return rewriter.notifyMatchFailure(op, "has no operands");
    if (auto dropout = dyn_cast<DropoutOp>(op.getOperation());
        dropout && dropout.getRate().convertToDouble() > 0)
      return rewriter.notifyMatchFailure(op, "drops in training");
    SmallVector<ElementsAttr> values;
    bool allSplat = true;
    int64_t largest = 0;
    for (Value operand : op->getOperands()) {
      ElementsAttr value;
      if (!matchPattern(operand, m_Constant(&value)))
        return rewriter.notifyMatchFailure(op, "has an operand that varies");
      allSplat &= value.isSplat();
      largest = std::max(largest, value.getNumElements());
      values.push_back(value);
    }
    for (Type type : op->getResultTypes())
      largest =
          std::max(largest, cast<RankedTensorType>(type).getNumElements());
    if (largest > maxElements)
      return rewriter.notifyMatchFailure(op, "is too large");
    if (isa<BroadcastOp>(op.getOperation()) && !allSplat)
      return rewriter.notifyMatchFailure(op, "would only repeat elements");

    // One element everywhere: no need to look at each of them.
    if (isa<BroadcastOp>(op.getOperation()) && largest > 0) {
      auto type = cast<RankedTensorType>(op->getResult(0).getType());
      rewriter.replaceOpWithNewOp<ConstantOp>(
          op, DenseElementsAttr::get(
                  type, values.front().getSplatValue<Attribute>()));
      return success();
    }
    SmallVector<HostTensor> operands, results;
    for (ElementsAttr value : values) {
      FailureOr<HostTensor> tensor = HostTensor::fromAttribute(value);
      if (failed(tensor))
        return rewriter.notifyMatchFailure(op, "has an operand of a form that "
                                               "cannot be read");
      operands.push_back(*tensor);
    }
    // An op that has no value for these operands (an index out of range) stays
    // for its user to run into: folding is no place for errors.
    ScopedDiagnosticHandler quiet(getContext(),
                                  [](Diagnostic &) { return success(); });
    if (failed(op.evaluate(operands, results)))
      return rewriter.notifyMatchFailure(op, "has no value here");
    SmallVector<Value> constants;
    for (const HostTensor &result : results)
      constants.push_back(
          ConstantOp::create(rewriter, op->getLoc(), getAttribute(result)));
    rewriter.replaceOp(op, constants);
    return success();
  }

  int64_t maxElements;
};

/// A tensor without elements is known before it is computed: as a constant it
/// costs no kernel, and what reads it (a sum of nothing) folds.
static void makeEmptyConstant(func::FuncOp func) {
  if (func.isExternal())
    return;
  llvm::MapVector<Type, Value> constants;
  OpBuilder builder = OpBuilder::atBlockBegin(&func.getBody().front());
  auto replace = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !type.hasStaticShape() || type.getNumElements() != 0 ||
        value.use_empty())
      return;
    Value &constant = constants[type];
    if (!constant)
      constant = ConstantOp::create(
          builder, value.getLoc(),
          DenseElementsAttr::get(type, ArrayRef<Attribute>()));
    value.replaceAllUsesWith(constant);
  };
  for (BlockArgument argument : func.getArguments())
    replace(argument);
  func.walk([&](Operation *op) {
    if (!op->hasTrait<OpTrait::ConstantLike>())
      llvm::for_each(op->getResults(), replace);
  });
}

struct FoldPass : dist::impl::FoldPassBase<FoldPass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      makeEmptyConstant(func);
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldConstantOperands>(&getContext(), maxElements);
    for (Dialect *dialect : getContext().getLoadedDialects())
      dialect->getCanonicalizationPatterns(patterns);
    for (RegisteredOperationName name : getContext().getRegisteredOperations())
      name.getCanonicalizationPatterns(patterns, &getContext());
    // Anything reached before the limit of iterations is right as well.
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};
} // namespace
