//===- ReductionCut.cpp - Which sums to complete -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/ReductionCut.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Partition/Unreduced.h"

using namespace mlir;
using namespace mlir::dist;

int64_t mlir::dist::getLocalBytes(Value value, MeshOp mesh) {
  auto type = cast<RankedTensorType>(value.getType());
  if (ShardingAttr sharding = findSharding(value))
    return getByteSize(
        *getLocalType(getPaddedType(type, sharding, mesh), sharding, mesh));
  return getByteSize(type);
}

bool mlir::dist::isDeclaredUnreduced(func::FuncOp function, unsigned result,
                                     StringAttr axis) {
  auto sharding = function.getResultAttrOfType<ShardingAttr>(
      result, DistDialect::kSharding);
  return sharding && sharding.isUnreducedOver(axis);
}

/// Whether the batch is split over the axis.
bool ReductionCut::sumsOverExamples() {
  for (BlockArgument argument : function.getArguments()) {
    auto dim = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                      kBatchDimAttr);
    ShardingAttr sharding = findSharding(argument);
    if (dim && sharding && dim.getValue().ult(sharding.getNumDims()) &&
        llvm::is_contained(sharding.getAxes(dim.getInt()), axis))
      return true;
  }
  return false;
}

/// Of an all-reduce of the value. Sums over examples stay f32 in mixed
/// precision, as they are on one device: what is narrower is widened first, if
/// it is at all. (Activations' partial products are sent as they are.)
int64_t ReductionCut::getPrice(Value value) const {
  // Twice the bytes: a reduce-scatter costs half.
  int64_t price = 2 * getLocalBytes(value, mesh);
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(value));
  if (!ofExamples || !type || type.getWidth() >= 32)
    return price;
  return price * (32 / type.getWidth()) + 1;
}

void ReductionCut::addUse(OpOperand &use, unsigned sink) {
  Operation *op = use.getOwner();
  unsigned wanted = nodes[use.get()].wanted;
  auto whole = [&](int64_t cost) { cut.addEdge(wanted, sink, cost); };
  if (isa<func::ReturnOp>(op)) {
    if (!isDeclaredUnreduced(function, use.getOperandNumber(), axis))
      whole(MinimumCut::kInfinite);
    return;
  }
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    if (llvm::is_contained(reduce.getGroupAxes(), axis))
      return;
  if (auto reshard = dyn_cast<ReshardOp>(op))
    if (reshard.getTarget().splitsOver(axis))
      // A reduce-scatter: half of an all-reduce.
      return whole(getLocalBytes(use.get(), mesh));
  if (!llvm::all_of(op->getResults(),
                    [&](Value result) { return isUnreduced(result); })) {
    if (readsElements(use))
      whole(MinimumCut::kInfinite);
    return;
  }
  for (Value result : op->getResults()) {
    // A whole result needs whole operands; a partial one, partial ones.
    cut.addEdge(wanted, nodes[result].fromWhole, MinimumCut::kInfinite);
    cut.addEdge(nodes[result].fromWhole, nodes[use.get()].fromWhole,
                MinimumCut::kInfinite);
  }
}

ReductionCut::ReductionCut(func::FuncOp function, MeshOp mesh, StringAttr axis,
                           const DenseSet<Value> &unreduced)
    : function(function), mesh(mesh), axis(axis), unreduced(unreduced),
      ofExamples(sumsOverExamples()) {
  unsigned source = cut.addNode(), sink = cut.addNode();
  SmallVector<Value> values;
  auto add = [&](Value value, bool isOrigin) {
    if (!isUnreduced(value))
      return;
    values.push_back(value);
    Nodes &own = nodes[value];
    own.fromWhole = cut.addNode();
    own.wanted = cut.addNode();
    cut.addEdge(own.fromWhole, own.wanted, getPrice(value));
    bool keptPartial = llvm::any_of(value.getUses(), [&](OpOperand &use) {
      return isa<func::ReturnOp>(use.getOwner()) &&
             isDeclaredUnreduced(function, use.getOperandNumber(), axis);
    });
    if (isOrigin || keptPartial)
      cut.addEdge(source, own.fromWhole, MinimumCut::kInfinite);
  };
  Block &block = function.front();
  for (BlockArgument argument : block.getArguments())
    add(argument, /*isOrigin=*/true);
  for (Operation &op : block)
    for (Value result : op.getResults())
      add(result, llvm::none_of(op.getOperands(), [&](Value operand) {
            return isUnreduced(operand);
          }));
  for (Value value : values)
    for (OpOperand &use : value.getUses())
      addUse(use, sink);
  cut.solve(source, sink);
}

bool ReductionCut::isReduced(Value value) const {
  auto own = nodes.find(value);
  return own != nodes.end() && !cut.isOnSourceSide(own->second.wanted);
}

bool ReductionCut::staysPartial(Value value) const {
  auto own = nodes.find(value);
  return own != nodes.end() && cut.isOnSourceSide(own->second.fromWhole);
}
