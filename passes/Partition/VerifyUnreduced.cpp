//===- VerifyUnreduced.cpp - No partial sum passes for a whole one --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/Passes.h"
#include "passes/Partition/Unreduced.h"

namespace mlir::dist {
#define GEN_PASS_DEF_VERIFYUNREDUCEDPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct VerifyUnreducedPass
    : mlir::dist::impl::VerifyUnreducedPassBase<VerifyUnreducedPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult verify(Operation *op, StringAttr axis, MeshOp mesh);
  LogicalResult verifyReturn(Operation *op, StringAttr axis);
};
} // namespace

static bool isUnreducedOver(Value value, StringAttr axis) {
  ShardingAttr sharding = findSharding(value);
  return sharding && sharding.isUnreducedOver(axis);
}

LogicalResult VerifyUnreducedPass::verify(Operation *op, StringAttr axis,
                                          MeshOp mesh) {
  bool expected = false;
  if (auto reduce = dyn_cast<AllReduceOp>(op)) {
    bool reduces = llvm::is_contained(reduce.getGroupAxes(), axis);
    for (auto [operand, result] :
         llvm::zip(op->getOperands(), op->getResults())) {
      bool unreduced = isUnreducedOver(operand, axis);
      if (reduces && !unreduced && reduce.getReduction() == Reduction::Sum)
        return op->emitOpError()
               << "sums a value over '" << axis.getValue()
               << "' that is not unreduced over it: it would be counted "
               << mesh.getAxisSize(axis) << " times";
      if (isUnreducedOver(result, axis) != (unreduced && !reduces))
        return op->emitOpError()
               << "has a result whose sharding is wrong about '"
               << axis.getValue() << "'";
    }
    return success();
  }
  // A reshard may complete a sum, or divide a whole value over the ranks.
  if (isa<ReshardOp>(op))
    return success();
  UnreducedEffect effect = getUnreducedEffect(op, axis, mesh, [&](Value value) {
    return isUnreducedOver(value, axis);
  });
  if (effect.misuse)
    return op->emitOpError()
           << "uses a partial sum over '" << axis.getValue()
           << "' as if it were whole; a dist.all_reduce is missing before it";
  expected = effect.partial && effect.kind == Reduction::Sum;
  if (effect.partial && effect.kind != Reduction::Sum)
    for (Operation *user : op->getUsers()) {
      auto reduce = dyn_cast<AllReduceOp>(user);
      if (!reduce || !llvm::is_contained(reduce.getGroupAxes(), axis))
        return op->emitOpError()
               << "gives a partial result over '" << axis.getValue()
               << "' that is not reduced at once";
    }
  for (Value result : op->getResults())
    if (findSharding(result) && isUnreducedOver(result, axis) != expected)
      return op->emitOpError()
             << (expected ? "gives a partial sum over '"
                          : "does not give a partial sum over '")
             << axis.getValue() << "', but its sharding says otherwise";
  return success();
}

LogicalResult VerifyUnreducedPass::verifyReturn(Operation *op,
                                                StringAttr axis) {
  func::FuncOp function = getOperation();
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto declared =
        function.getResultAttrOfType<ShardingAttr>(i, DistDialect::kSharding);
    bool wanted = declared && declared.isUnreducedOver(axis);
    bool given = isUnreducedOver(operand, axis);
    if (wanted != given && !(wanted && graph::isZero(operand)))
      return function.emitOpError()
             << "result " << i
             << (given ? " is a partial sum over '"
                       : " is not a partial sum over '")
             << axis.getValue() << "', but is declared otherwise";
  }
  return success();
}

void VerifyUnreducedPass::runOnOperation() {
  func::FuncOp function = getOperation();
  MeshOp mesh = findMesh(function);
  markAllAnalysesPreserved();
  if (!mesh || function.isExternal())
    return;
  for (auto axis : mesh.getAxisNames().getAsRange<StringAttr>()) {
    // A sum over one rank is whole.
    if (mesh.getAxisSize(axis) == 1)
      continue;
    for (Operation &op : function.front())
      if (failed(op.hasTrait<OpTrait::IsTerminator>()
                     ? verifyReturn(&op, axis)
                     : verify(&op, axis, mesh)))
        return signalPassFailure();
  }
}
