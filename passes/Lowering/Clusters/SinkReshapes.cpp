//===- SinkReshapes.cpp - What reads rows computes in rows ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops that make a row at a time (RowCodeOpInterface) form kernels with ops of
// their own shape. What they are read as is often another shape of as many
// elements, such as a gradient's: the reshape between is moved behind all
// element-wise ops and whole sums that follow.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Graph/IR/Graph.h"
#include "passes/Lowering/Memory/MemoryLayout.h"
#include "passes/Lowering/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {
#define GEN_PASS_DEF_SINKRESHAPESPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

namespace {
class Sinker {
public:
  void run(Block &block);

private:
  Value findRows(Value value);
  Value getInRows(Value value, ArrayRef<int64_t> shape, OpBuilder &b);
  void sink(Operation *op, Value rows);

  /// Computed in rows.
  llvm::DenseSet<Value> inRows;
};

struct SinkReshapesPass
    : mlir::dist::impl::SinkReshapesPassBase<SinkReshapesPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration())
        Sinker().run(func.getBody().front());
  }
};
} // namespace

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// What is computed in rows and reshaped to `value`; null: nothing.
Value Sinker::findRows(Value value) {
  Value rows = getReshaped(value);
  return inRows.contains(rows) ? rows : Value();
}

/// `value` in the shape of the rows.
Value Sinker::getInRows(Value value, ArrayRef<int64_t> shape, OpBuilder &b) {
  RankedTensorType type = typeOf(value).clone(shape);
  if (Value rows = findRows(value); rows && rows.getType() == type)
    return rows;
  if (auto broadcast = value.getDefiningOp<graph::BroadcastOp>();
      broadcast && broadcast.getDims().empty())
    return graph::BroadcastOp::create(b, broadcast.getLoc(), type,
                                      broadcast.getOperand(),
                                      broadcast.getDims());
  if (auto constant = value.getDefiningOp<graph::ConstantOp>())
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      return graph::ConstantOp::create(b, constant.getLoc(),
                                       splat.resizeSplat(type));
  return graph::ReshapeOp::create(b, value.getLoc(), type, value);
}

/// Puts the op over rows in its place, and a reshape behind it.
void Sinker::sink(Operation *op, Value rows) {
  OpBuilder b(op);
  ArrayRef<int64_t> shape = typeOf(rows).getShape();
  Value result = op->getResult(0);
  if (auto reduce = dyn_cast<graph::ReduceOp>(op)) {
    SmallVector<int64_t> dims =
        llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
    result.replaceAllUsesWith(
        graph::ReduceOp::create(b, op->getLoc(), reduce.getKind(), rows, dims));
    op->erase();
    return;
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getInRows(operand, shape, b));
  Operation *moved =
      b.create(op->getLoc(), op->getName().getIdentifier(), operands,
               typeOf(result).clone(shape), op->getAttrs());
  // Shardings are of the dims that were.
  moved->removeDiscardableAttr(DistDialect::kShardings);
  inRows.insert(moved->getResult(0));
  result.replaceAllUsesWith(graph::ReshapeOp::create(
      b, op->getLoc(), result.getType(), moved->getResult(0)));
  op->erase();
}

void Sinker::run(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<RowCodeOpInterface>(op)) {
      inRows.insert(op.getResult(0));
      continue;
    }
    auto reduce = dyn_cast<graph::ReduceOp>(op);
    bool isWhole = reduce && reduce.getType().getRank() == 0;
    bool isPointwise =
        op.hasTrait<OpTrait::Elementwise>() && op.getNumResults() == 1;
    if (!isWhole && !isPointwise)
      continue;
    for (Value operand : op.getOperands())
      if (Value rows = findRows(operand)) {
        if (operand != rows)
          sink(&op, rows);
        else if (isPointwise)
          inRows.insert(op.getResult(0));
        break;
      }
  }
}
