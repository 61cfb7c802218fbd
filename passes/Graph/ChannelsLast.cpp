//===- ChannelsLast.cpp - Channels-last activations -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One sweep over each function. A value that has a channels-last twin is
// *moved*; convolutions start with it, and ops that can follow their operands
// do. Whatever cannot reads the value back through a transpose.
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
  bool moveConv(Operation *op);
  bool movePool(Operation *op);
  bool moveElementwise(Operation *op);
  bool moveReduce(ReduceOp op);
  bool moveByDims(Operation *op);

  bool isMoved(Value value) const { return moved.contains(value); }
  bool anyMoved(Operation *op) const {
    return llvm::any_of(op->getOperands(),
                        [&](Value operand) { return isMoved(operand); });
  }
  Value getMoved(Value value);
  Value getOriginal(Value value);
  void replaceByMoved(Operation *op, Operation *twin);
  Operation *cloneMoved(Operation *op, ValueRange operands);
  GraphBuilder graphAt(Operation *op) {
    builder.setInsertionPoint(op);
    return GraphBuilder(builder, op->getLoc());
  }

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

/// Channels-last dim i is channels-first dim `p[i]`: [0, 2, .., rank-1, 1].
static SmallVector<int64_t> getPermutation(int64_t rank) {
  SmallVector<int64_t> permutation = {0};
  for (int64_t d = 2; d < rank; ++d)
    permutation.push_back(d);
  permutation.push_back(1);
  return permutation;
}
static SmallVector<int64_t> getInverse(int64_t rank) {
  SmallVector<int64_t> permutation = {0, rank - 1};
  for (int64_t d = 1; d < rank - 1; ++d)
    permutation.push_back(d);
  return permutation;
}
/// Where channels-first dim `dim` goes.
static int64_t mapDim(int64_t dim, int64_t rank) {
  return dim == 0 ? 0 : dim == 1 ? rank - 1 : dim - 1;
}
static SmallVector<int64_t> permute(ArrayRef<int64_t> values,
                                    ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result;
  for (int64_t p : permutation)
    result.push_back(values[p]);
  return result;
}
static RankedTensorType getMovedType(RankedTensorType type) {
  return type.clone(permute(type.getShape(), getPermutation(type.getRank())));
}

/// A transpose; a reshape where only dims of size 1 change places.
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

/// The channels-last twin of `value`, made at the present place if needed.
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
      dims.push_back(mapDim(dim, type.getRank()));
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
    if (back.getPermutation() == ArrayRef<int64_t>(getInverse(type.getRank())))
      twin = back.getOperand();
  }
  if (!twin)
    twin = transpose(g, value, getPermutation(type.getRank()));
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
    back = transpose(g, twin, getInverse(typeOf(value).getRank()));
  }
  return back;
}

void Mover::replaceByMoved(Operation *op, Operation *twin) {
  for (auto [before, after] :
       llvm::zip_equal(op->getResults(), twin->getResults()))
    moved[before] = after;
  replaced.insert(op);
}

Operation *Mover::cloneMoved(Operation *op, ValueRange operands) {
  builder.setInsertionPoint(op);
  OperationState state(op->getLoc(), op->getName(), operands, {},
                       op->getAttrs());
  for (Value result : op->getResults())
    state.addTypes(getMovedType(typeOf(result)));
  return builder.create(state);
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

/// N, C and the spatial dims in order.
static bool isChannelsFirst(StringRef layout) {
  if (layout.size() < 3 || !layout.starts_with("NC"))
    return false;
  for (size_t i = 2; i < layout.size(); ++i)
    if (layout[i] != char('0' + i - 2))
      return false;
  return true;
}
static std::string getChannelsLast(StringRef layout) {
  return "N" + layout.drop_front(2).str() + "C";
}

bool Mover::moveConv(Operation *op) {
  // Operand 0 is an activation, operand 1 the filter.
  auto input = op->getAttrOfType<StringAttr>("input_layout");
  auto output = op->getAttrOfType<StringAttr>("output_layout");
  if (!input || !output || !isChannelsFirst(input) || !isChannelsFirst(output))
    return false;
  Value filter = getOriginal(op->getOperand(1));
  Operation *twin = cloneMoved(op, {getMoved(op->getOperand(0)), filter});
  twin->setAttr("input_layout", builder.getStringAttr(getChannelsLast(input)));
  twin->setAttr("output_layout",
                builder.getStringAttr(getChannelsLast(output)));
  replaceByMoved(op, twin);
  return true;
}

/// Attributes with one entry a dim follow the dims, as in pools, pads, slices.
bool Mover::moveByDims(Operation *op) {
  int64_t rank = typeOf(op->getOperand(0)).getRank();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(typeOf(operand).getRank() == rank ? getMoved(operand)
                                                         : operand);
  Operation *twin = cloneMoved(op, operands);
  for (NamedAttribute attribute : op->getAttrs())
    if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute.getValue()))
      if (int64_t(list.size()) == rank)
        twin->setAttr(attribute.getName(), builder.getDenseI64ArrayAttr(permute(
                                               list, getPermutation(rank))));
  replaceByMoved(op, twin);
  return true;
}

bool Mover::movePool(Operation *op) {
  // The position in a window is row-major over all dims: it stays the same
  // number when the window has one channel.
  auto window = op->getAttrOfType<DenseI64ArrayAttr>("window");
  if (window.size() < 3 || window[0] != 1 || window[1] != 1)
    return false;
  return moveByDims(op);
}

bool Mover::moveElementwise(Operation *op) {
  RankedTensorType type = typeOf(op->getResult(0));
  for (Value operand : op->getOperands())
    if (typeOf(operand).getShape() != type.getShape())
      return false;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getMoved(operand));
  replaceByMoved(op, cloneMoved(op, operands));
  return true;
}

bool Mover::moveReduce(ReduceOp op) {
  int64_t rank = typeOf(op.getOperand()).getRank();
  SmallVector<int64_t> dims, kept;
  for (int64_t d = 0; d < rank; ++d) {
    if (llvm::is_contained(op.getDims(), d))
      dims.push_back(mapDim(d, rank));
    else
      kept.push_back(mapDim(d, rank));
  }
  // The result's own order must come out the same.
  if (!llvm::is_sorted(kept))
    return false;
  llvm::sort(dims);
  GraphBuilder g = graphAt(op);
  Value twin = g.reduce(op.getKind(), getMoved(op.getOperand()), dims);
  op.replaceAllUsesWith(twin);
  replaced.insert(op);
  return true;
}

/// Whether op has a channels-last twin now.
bool Mover::move(Operation *op) {
  if (op->getNumResults() == 0)
    return false;
  if (isa<ConvOp, ConvInputGradOp>(op))
    return moveConv(op);
  if (!anyMoved(op) || op->getNumOperands() == 0)
    return false;
  // Only what a convolution's order reaches through operand 0 (or any, for
  // ops whose operands are alike) follows.
  auto operandType = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  if (!operandType || operandType.getRank() < 3)
    return false;
  if (op->hasTrait<OpTrait::Elementwise>() || isa<DropoutOp>(op))
    return moveElementwise(op);
  if (!isMoved(op->getOperand(0)) && !isa<ConcatOp>(op))
    return false;
  int64_t rank = operandType.getRank();
  if (isa<MaxPoolOp, AvgPoolOp>(op))
    return movePool(op);
  if (isa<PadOp, SliceOp>(op))
    return moveByDims(op);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return moveReduce(reduce);
  if (isa<BatchNormInferenceOp, SoftmaxOp, LogSoftmaxOp, ConcatOp>(op)) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(typeOf(operand).getRank() == rank ? getMoved(operand)
                                                           : operand);
    Operation *twin = cloneMoved(op, operands);
    int64_t axis = op->getAttrOfType<IntegerAttr>("axis").getInt();
    twin->setAttr("axis", builder.getI64IntegerAttr(mapDim(axis, rank)));
    replaceByMoved(op, twin);
    return true;
  }
  return false;
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
          inner.getPermutation() == ArrayRef<int64_t>(getInverse(rank)) &&
          back.getPermutation() == ArrayRef<int64_t>(getPermutation(rank)))
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
