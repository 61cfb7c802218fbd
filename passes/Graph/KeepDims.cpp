//===- KeepDims.cpp - Dims that are merged for a layer stay apart ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a merged dim only the first part can be split over devices: rows that are
// merged as [time, batch] have each example in many places.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "passes/Graph/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_KEEPDIMSPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The dims that `part` makes of its operand's first one; none if it makes
/// others.
static ArrayRef<int64_t> findParts(ReshapeOp part) {
  RankedTensorType from = typeOf(part.getOperand()), to = part.getType();
  if (from.getRank() == 0 || from.getNumElements() == 0)
    return {};
  int64_t size = 1;
  for (size_t dims = 0; int64_t(dims) < to.getRank();) {
    size *= to.getDimSize(dims++);
    if (size >= from.getDimSize(0))
      return size == from.getDimSize(0) ? to.getShape().take_front(dims)
                                        : ArrayRef<int64_t>();
  }
  return {};
}

/// Whether `value` is a reshape that makes its first dim of `parts`.
static bool mergesParts(Value value, ArrayRef<int64_t> parts) {
  auto merge = value.getDefiningOp<ReshapeOp>();
  return merge &&
         typeOf(merge.getOperand()).getRank() >= int64_t(parts.size()) &&
         typeOf(merge.getOperand()).getShape().take_front(parts.size()) ==
             parts;
}

/// Whether all rows of `value` are known to be one.
static bool repeatsRows(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return !llvm::is_contained(broadcast.getDims(), 0) ||
           typeOf(broadcast.getOperand()).getDimSize(0) == 1;
  SplatElementsAttr splat;
  return matchPattern(value, m_Constant(&splat));
}

/// The operand whose rows `op` makes its result's of, one of one; null if there
/// is none.
static OpOperand *findRows(Operation *op) {
  if (auto dot = dyn_cast<DotGeneralOp>(op))
    return dot.getLhsBatch().empty() &&
                   !llvm::is_contained(dot.getLhsContract(), 0)
               ? &op->getOpOperand(0)
               : nullptr;
  if (auto norm = dyn_cast<BatchNormInferenceOp>(op))
    return norm.getAxis() != 0 ? &op->getOpOperand(0) : nullptr;
  if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() != 1)
    return nullptr;
  OpOperand *rows = nullptr;
  for (OpOperand &operand : op->getOpOperands()) {
    if (typeOf(operand.get()).getShape() != typeOf(op->getResult(0)).getShape())
      return nullptr;
    if (repeatsRows(operand.get()))
      continue;
    if (rows)
      return nullptr;
    rows = &operand;
  }
  return rows;
}

/// `shape` with `parts` in the place of the first dim.
static SmallVector<int64_t> partFirst(ArrayRef<int64_t> shape,
                                      ArrayRef<int64_t> parts) {
  SmallVector<int64_t> result(parts);
  llvm::append_range(result, shape.drop_front());
  return result;
}

/// A value of equal rows, of as many as the parts are.
static Value repeatParts(GraphBuilder &g, Value value,
                         ArrayRef<int64_t> parts) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> shape = partFirst(type.getShape(), parts);
  SplatElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)))
    return g.make<ConstantOp>(
        ElementsAttr(splat.resizeSplat(type.clone(shape))));
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  Value operand = broadcast.getOperand();
  ArrayRef<int64_t> dims = broadcast.getDims();
  if (!dims.empty() && dims.front() == 0) {
    operand = g.reshape(operand, typeOf(operand).getShape().drop_front());
    dims = dims.drop_front();
  }
  SmallVector<int64_t> moved;
  for (int64_t dim : dims)
    moved.push_back(dim + int64_t(parts.size()) - 1);
  return g.broadcast(operand, shape, moved);
}

/// The op of `rows`, with `kept` for them.
static Value rebuild(OpBuilder &builder, OpOperand &rows, Value kept,
                     ArrayRef<int64_t> parts) {
  Operation *op = rows.getOwner();
  GraphBuilder g(builder, op->getLoc());
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    SmallVector<int64_t> contract;
    for (int64_t dim : dot.getLhsContract())
      contract.push_back(dim + int64_t(parts.size()) - 1);
    return g.make<DotGeneralOp>(kept, dot.getRhs(), dot.getLhsBatch(),
                                dot.getRhsBatch(), contract,
                                dot.getRhsContract());
  }
  IRMapping mapping;
  mapping.map(rows.get(), kept);
  if (op->hasTrait<OpTrait::Elementwise>())
    for (OpOperand &operand : op->getOpOperands())
      if (&operand != &rows)
        mapping.map(operand.get(), repeatParts(g, operand.get(), parts));
  Operation *copy = builder.clone(*op, mapping);
  if (auto norm = dyn_cast<BatchNormInferenceOp>(copy))
    norm.setAxis(norm.getAxis() + parts.size() - 1);
  RankedTensorType type = typeOf(op->getResult(0));
  copy->getResult(0).setType(type.clone(partFirst(type.getShape(), parts)));
  return copy->getResult(0);
}

static void keepDims(ReshapeOp part) {
  SmallVector<int64_t> parts(findParts(part));
  if (llvm::count_if(parts, [](int64_t size) { return size > 1; }) < 2)
    return;
  SmallVector<OpOperand *> way;
  Value value = part.getOperand();
  while (!mergesParts(value, parts)) {
    Operation *op = value.getDefiningOp();
    OpOperand *rows = op && value.hasOneUse() ? findRows(op) : nullptr;
    if (!rows)
      return;
    way.push_back(rows);
    value = rows->get();
  }
  // Two reshapes, one behind the other, are the canonicalizer's.
  if (way.empty())
    return;
  auto merge = value.getDefiningOp<ReshapeOp>();
  OpBuilder builder(part);
  GraphBuilder g(builder, merge.getLoc());
  Value kept = g.reshape(merge.getOperand(),
                         partFirst(merge.getType().getShape(), parts));
  for (OpOperand *rows : llvm::reverse(way))
    kept = rebuild(builder, *rows, kept, parts);
  part.getResult().replaceAllUsesWith(
      GraphBuilder(builder, part.getLoc())
          .reshape(kept, part.getType().getShape()));
  SmallVector<Operation *> dead = {part};
  for (OpOperand *rows : way)
    dead.push_back(rows->getOwner());
  for (Operation *op : dead)
    op->erase();
  if (merge->use_empty())
    merge->erase();
}

namespace {
struct KeepDimsPass : dist::impl::KeepDimsPassBase<KeepDimsPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<ReshapeOp> parts;
      func.walk([&](ReshapeOp op) { parts.push_back(op); });
      llvm::for_each(parts, keepDims);
    }
  }
};
} // namespace
