//===- ChannelsLast.cpp - Channels-last activations -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One sweep over each function. A value that has a channels-last twin is
// *moved*. Ops say by ChannelsLastOpInterface whether they want that
// (convolutions) or can follow an operand that was moved; what cannot reads the
// value back through a transpose.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Graph/Entry.h"
#include "passes/Graph/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dist {
#define GEN_PASS_DEF_CHANNELSLASTPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
class Mover {
public:
  explicit Mover(func::FuncOp entry)
      : entry(entry), builder(entry->getContext()) {}
  void run();

private:
  bool move(Operation *op);

  bool isMoved(Value value) const { return moved.contains(value); }
  bool anyMoved(Operation *op) const {
    return llvm::any_of(op->getOperands(),
                        [&](Value operand) { return isMoved(operand); });
  }
  Value getMoved(Value value);
  Value getOriginal(Value value);

  func::FuncOp entry;
  OpBuilder builder;
  /// Channels-first value to its channels-last twin.
  DenseMap<Value, Value> moved;
  /// Channels-first value to the transpose of its twin.
  DenseMap<Value, Value> restored;
  llvm::SetVector<Operation *> replaced;
};
} // namespace

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static RankedTensorType getMovedType(RankedTensorType type) {
  return type.clone(
      permute(type.getShape(), getChannelsLastOrder(type.getRank())));
}

/// A transpose; a reshape where only dims of size 1 are reordered.
static Value transpose(GraphBuilder &g, Value value,
                       ArrayRef<int64_t> permutation) {
  ArrayRef<int64_t> shape = typeOf(value).getShape();
  int64_t last = -1;
  bool keepsOrder = true;
  for (int64_t p : permutation) {
    if (shape[p] == 1)
      continue;
    keepsOrder &= p > last;
    last = p;
  }
  return keepsOrder ? g.reshape(value, permute(shape, permutation))
                    : g.transpose(value, permutation);
}

/// The channels-last twin of `value`, made where the value is if needed.
Value Mover::getMoved(Value value) {
  if (Value twin = moved.lookup(value))
    return twin;
  RankedTensorType type = typeOf(value);
  Location loc = value.getLoc();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(value);
  GraphBuilder g(builder, loc);
  Value twin;
  Operation *producer = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<ConstantOp>(producer)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (dense && dense.isSplat())
      twin = g.make<ConstantOp>(
          ElementsAttr(dense.resizeSplat(getMovedType(type))));
  } else if (auto broadcast = dyn_cast_or_null<BroadcastOp>(producer)) {
    // A bias: its dims keep their order if only the channel is among the moved.
    SmallVector<int64_t> dims;
    for (int64_t dim : broadcast.getDims())
      dims.push_back(moveDim(dim, type.getRank()));
    if (llvm::is_sorted(dims)) {
      twin =
          g.make<BroadcastOp>(getMovedType(type), broadcast.getOperand(), dims);
    } else {
      // [C, 1, 1] or [N, C, 1, 1]: the same with the channel last, of which
      // there is less to move before it is repeated.
      SmallVector<std::pair<int64_t, int64_t>> order;
      for (auto [index, dim] : llvm::enumerate(dims))
        order.emplace_back(dim, index);
      llvm::sort(order);
      SmallVector<int64_t> permutation, sorted;
      for (auto [dim, index] : order) {
        permutation.push_back(index);
        sorted.push_back(dim);
      }
      twin = g.make<BroadcastOp>(
          getMovedType(type), transpose(g, broadcast.getOperand(), permutation),
          sorted);
    }
  } else if (auto back = dyn_cast_or_null<TransposeOp>(producer)) {
    // The model is channels-last around its convolutions, as exporters from
    // channels-last frameworks write it.
    if (back.getPermutation() ==
        ArrayRef<int64_t>(getChannelsFirstOrder(type.getRank())))
      twin = back.getOperand();
  }
  if (!twin)
    twin = transpose(g, value, getChannelsLastOrder(type.getRank()));
  moved[value] = twin;
  return twin;
}

/// `value` in the model's order, for an op that does not follow.
Value Mover::getOriginal(Value value) {
  Value twin = moved.lookup(value);
  // Values that nothing replaced are still there.
  if (!twin || !replaced.contains(value.getDefiningOp()))
    return value;
  Value &back = restored[value];
  if (!back) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(twin);
    GraphBuilder g(builder, value.getLoc());
    back = transpose(g, twin, getChannelsFirstOrder(typeOf(value).getRank()));
  }
  return back;
}

/// Whether op has a channels-last twin now.
bool Mover::move(Operation *op) {
  auto movable = dyn_cast<ChannelsLastOpInterface>(op);
  if (!movable || op->getNumOperands() == 0)
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  int64_t rank = type ? type.getRank() : 0;
  if (rank < 3 || !(movable.wantsChannelsLast() || anyMoved(op)))
    return false;
  NamedAttrList attributes(op->getAttrs());
  ChannelMove move = movable.moveChannels(rank, attributes);
  if (move == ChannelMove::Refused)
    return false;
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(movable.hasChannels(operand.getOperandNumber())
                           ? getMoved(operand.get())
                           : getOriginal(operand.get()));
  builder.setInsertionPoint(op);
  OperationState state(op->getLoc(), op->getName(), operands, {}, attributes);
  for (Type result : op->getResultTypes())
    state.addTypes(move == ChannelMove::Follows
                       ? getMovedType(cast<RankedTensorType>(result))
                       : result);
  Operation *twin = builder.create(state);
  if (move == ChannelMove::Stays)
    op->replaceAllUsesWith(twin);
  else
    for (auto [before, after] :
         llvm::zip_equal(op->getResults(), twin->getResults()))
      moved[before] = after;
  replaced.insert(op);
  return true;
}

void Mover::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : entry.getBody().front())
    ops.push_back(&op);
  for (Operation *op : ops) {
    if (move(op))
      continue;
    for (OpOperand &operand : op->getOpOperands())
      operand.set(getOriginal(operand.get()));
    // The model's own return to its channels-last order undoes ours.
    if (auto back = dyn_cast<TransposeOp>(op)) {
      auto inner = back.getOperand().getDefiningOp<TransposeOp>();
      int64_t rank = typeOf(back.getOperand()).getRank();
      if (inner && rank >= 3 &&
          inner.getPermutation() ==
              ArrayRef<int64_t>(getChannelsFirstOrder(rank)) &&
          back.getPermutation() ==
              ArrayRef<int64_t>(getChannelsLastOrder(rank)))
        back.replaceAllUsesWith(inner.getOperand());
    }
  }
  for (Operation *op : llvm::reverse(replaced)) {
    op->dropAllUses();
    op->erase();
  }
  eraseDeadOps(entry);
}

namespace {
struct ChannelsLastPass : dist::impl::ChannelsLastPassBase<ChannelsLastPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto entry : getOperation().getOps<func::FuncOp>())
      if (!entry.isExternal())
        Mover(entry).run();
  }
};
} // namespace
