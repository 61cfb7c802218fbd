//===- FoldNormalization.cpp - Normalizations become weights --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// (W x + c - mean) * factor + bias = (W factor) x + (bias + (c - mean) factor),
// factor = scale / sqrt(variance + epsilon), channel by channel: where weights
// alone decide the right side's parentheses, they are prepared once for many
// steps, and a pass over the activations is saved.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Library/KernelConverter.h"
#include "passes/Lowering/Passes.h"
#include "dialects/Graph/IR/GraphBuilder.h"

namespace mlir::dist {
#define GEN_PASS_DEF_FOLDNORMALIZATIONPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// The operand of a contraction that holds its weights, and their dim that is
/// the result's channels.
static std::optional<std::pair<OpOperand *, int64_t>>
findWeights(Operation *op, int64_t channelDim) {
  if (auto conv = dyn_cast_or_null<ConvOp>(op)) {
    if (int64_t(conv.getOutputLayout().find('C')) != channelDim)
      return std::nullopt;
    return std::make_pair(&conv.getFilterMutable(),
                          int64_t(conv.getFilterLayout().find('O')));
  }
  auto dot = dyn_cast_or_null<DotGeneralOp>(op);
  if (!dot || !dot.getRhsBatch().empty() || dot.getRhsContract().size() != 1 ||
      getTensorType(dot.getRhs()).getRank() != 2 ||
      getTensorType(dot.getResult()).getRank() != channelDim + 1)
    return std::nullopt;
  return std::make_pair(&dot.getRhsMutable(), 1 - dot.getRhsContract()[0]);
}

/// The bias that is all an addition does to its other operand's channels, with
/// a number for each: one for all of them would not fit `beta`.
static Value findBias(AddOp add, int64_t channelDim, Value &other) {
  for (auto [x, y] : {std::pair(add.getLhs(), add.getRhs()),
                      std::pair(add.getRhs(), add.getLhs())})
    if (auto broadcast = y.getDefiningOp<BroadcastOp>())
      if (broadcast.getDims() == ArrayRef<int64_t>{channelDim} &&
          getTensorType(broadcast.getOperand()).getDimSize(0) ==
              getTensorType(y).getDimSize(channelDim) &&
          isPreparable(broadcast.getOperand())) {
        other = x;
        return broadcast.getOperand();
      }
  return {};
}

static void fold(BatchNormInferenceOp norm) {
  int64_t axis = norm.getAxis();
  Value contraction = norm.getOperand(), bias;
  if (!contraction.hasOneUse())
    return;
  if (auto add = contraction.getDefiningOp<AddOp>())
    if (Value found = findBias(add, axis, contraction))
      bias = found;
  auto weights = findWeights(contraction.getDefiningOp(), axis);
  if (!weights || !contraction.hasOneUse() ||
      !isPreparable(weights->first->get()) ||
      !llvm::all_of(norm->getOperands().drop_front(), isPreparable))
    return;
  // What is rounded to fewer bits would be rounded in another place.
  auto isF32 = [](Value value) {
    return getTensorType(value).getElementType().isF32();
  };
  if (!llvm::all_of(norm->getOperands(), isF32) ||
      !llvm::all_of(contraction.getDefiningOp()->getOperands(), isF32))
    return;

  OpBuilder builder(norm);
  GraphBuilder g(builder, norm.getLoc());
  Value factor = g.mul(
      g.rsqrt(g.add(norm.getVariance(), norm.getEpsilon().convertToDouble())),
      norm.getScale());
  Value offset = g.sub(bias ? bias : g.like(norm.getMean(), 0), norm.getMean());
  offset = g.add(norm.getBias(), g.mul(offset, factor));
  Value old = weights->first->get();
  Value scaled = g.mul(old, g.broadcast(factor, getTensorType(old).getShape(),
                                        {weights->second}));
  Operation *folded = builder.clone(*contraction.getDefiningOp());
  folded->setOperand(weights->first->getOperandNumber(), scaled);
  norm.replaceAllUsesWith(g.add(
      folded->getResult(0),
      g.broadcast(offset, getTensorType(contraction).getShape(), {axis})));
  norm.erase();
}

namespace {
struct FoldNormalizationPass
    : mlir::dist::impl::FoldNormalizationPassBase<FoldNormalizationPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<BatchNormInferenceOp> norms;
    getOperation().walk(
        [&](BatchNormInferenceOp norm) { norms.push_back(norm); });
    llvm::for_each(norms, fold);
  }
};
} // namespace
