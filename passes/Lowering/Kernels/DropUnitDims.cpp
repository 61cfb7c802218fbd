//===- DropUnitDims.cpp - Dims of size 1 leave generated code -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Dist.h"
#include "dialects/Graph/IR/Graph.h"
#include "passes/Lowering/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DROPUNITDIMSPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// `type` without its dims of size 1; null where it has none.
static RankedTensorType squeeze(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !llvm::is_contained(tensor.getShape(), 1))
    return {};
  SmallVector<int64_t> shape(tensor.getShape());
  llvm::erase(shape, 1);
  return tensor.clone(shape);
}

/// A kernel that was formed already has rows of its own, which all its ops
/// keep.
static bool isInKernel(Operation *op) {
  return !isa<func::FuncOp>(op->getParentOp());
}

static Value reshape(PatternRewriter &rewriter, Value value,
                     RankedTensorType type) {
  if (!type)
    return value;
  auto view = value.getDefiningOp<graph::ReshapeOp>();
  if (view && view.getOperand().getType() == type)
    return view.getOperand();
  return graph::ReshapeOp::create(rewriter, value.getLoc(), type, value);
}

/// Reshapes of reshapes become one, or none.
static void joinReshapes(Operation *root) {
  SmallVector<graph::ReshapeOp> views;
  root->walk([&](graph::ReshapeOp view) { views.push_back(view); });
  for (graph::ReshapeOp view : views) {
    auto first = view.getOperand().getDefiningOp<graph::ReshapeOp>();
    if (!first)
      continue;
    if (first.getOperand().getType() == view.getType())
      view.replaceAllUsesWith(first.getOperand());
    else
      view->setOperand(0, first.getOperand());
  }
  for (graph::ReshapeOp view : llvm::reverse(views))
    if (view.use_empty())
      view.erase();
}

/// Puts `squeezed` in the place of `op`, with all that was noted at it but the
/// sharding, which speaks of all dims.
static void replace(PatternRewriter &rewriter, Operation *op,
                    Operation *squeezed) {
  NamedAttrList attributes(op->getDiscardableAttrDictionary());
  attributes.erase(DistDialect::kShardings);
  squeezed->setDiscardableAttrs(attributes.getDictionary(op->getContext()));
  Value result = squeezed->getResult(0);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  rewriter.replaceOp(
      op, result.getType() == type ? result : reshape(rewriter, result, type));
}

/// Where each dim of `shape` is once those of size 1 are gone; -1: it is one.
static SmallVector<int64_t> numberKept(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> numbers;
  int64_t next = 0;
  for (int64_t size : shape)
    numbers.push_back(size == 1 ? -1 : next++);
  return numbers;
}

namespace {

struct DropOfElementwise : OpTraitRewritePattern<OpTrait::Elementwise> {
  using OpTraitRewritePattern::OpTraitRewritePattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (isInKernel(op) || op->getNumResults() != 1 || !result ||
        !squeeze(result))
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          reshape(rewriter, operand, squeeze(operand.getType())));
    Operation *squeezed =
        rewriter.create(op->getLoc(), op->getName().getIdentifier(), operands,
                        squeeze(result), op->getAttrs());
    replace(rewriter, op, squeezed);
    return success();
  }
};

struct DropOfReduce : OpRewritePattern<graph::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::ReduceOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = squeeze(op.getOperand().getType());
    if (isInKernel(op) || !type)
      return failure();
    SmallVector<int64_t> dims;
    auto numbers = numberKept(op.getOperand().getType().getShape());
    for (int64_t dim : op.getDims())
      if (numbers[dim] >= 0)
        dims.push_back(numbers[dim]);
    // Which kinds are the identity on one element is the op's to know.
    if (dims.empty())
      return failure();
    replace(rewriter, op,
            graph::ReduceOp::create(rewriter, op.getLoc(), op.getKind(),
                                    reshape(rewriter, op.getOperand(), type),
                                    dims));
    return success();
  }
};

struct DropOfBroadcast : OpRewritePattern<graph::BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType from = squeeze(op.getOperand().getType());
    RankedTensorType to = squeeze(op.getType());
    if (isInKernel(op) || (!from && !to))
      return failure();
    SmallVector<int64_t> dims;
    auto numbers = numberKept(op.getType().getShape());
    for (auto [size, dim] :
         llvm::zip(op.getOperand().getType().getShape(), op.getDims()))
      if (size != 1)
        dims.push_back(numbers[dim]);
    replace(rewriter, op,
            graph::BroadcastOp::create(
                rewriter, op.getLoc(), to ? to : op.getType(),
                reshape(rewriter, op.getOperand(), from), dims));
    return success();
  }
};

struct DropUnitDimsPass
    : mlir::dist::impl::DropUnitDimsPassBase<DropUnitDimsPass> {
  using Base::Base;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<DropOfElementwise, DropOfReduce, DropOfBroadcast>(
        &getContext());
    // One sweep: what has lost its dims of size 1 has no more of them.
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    joinReshapes(getOperation());
  }
};
} // namespace
