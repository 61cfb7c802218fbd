//===- BatchShares.cpp - Which dims are split by weight -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/BatchShares.h"
#include "passes/Partition/FactorSharding.h"

using namespace mlir;
using namespace mlir::dist;

BatchShares::BatchShares(func::FuncOp function, MeshOp mesh)
    : function(function), mesh(mesh), share(findShare(function)) {}

unsigned BatchShares::getNode(Value value, unsigned dim) {
  auto [found, added] = nodes.try_emplace({value, dim}, parents.size());
  if (added) {
    parents.push_back(parents.size());
    kinds.push_back(Kind::Unknown);
  }
  return found->second;
}

unsigned BatchShares::findRoot(unsigned node) const {
  while (parents[node] != node)
    node = parents[node];
  return node;
}

bool BatchShares::join(unsigned a, unsigned b) {
  a = findRoot(a);
  b = findRoot(b);
  if (a == b)
    return true;
  bool fit = kinds[a] == kinds[b] || kinds[a] == Kind::Unknown ||
             kinds[b] == Kind::Unknown;
  if (kinds[a] == Kind::Unknown)
    kinds[a] = kinds[b];
  parents[b] = a;
  return fit;
}

bool BatchShares::set(Value value, Kind kind) {
  for (unsigned dim : getSharedDims(findSharding(value), *share)) {
    Kind &known = kinds[findRoot(getNode(value, dim))];
    if (known != Kind::Unknown && known != kind)
      return false;
    known = kind;
  }
  return true;
}

LogicalResult BatchShares::joinAll(Operation *op, ArrayRef<Place> places) {
  for (Place place : places.drop_front(places.empty() ? 0 : 1))
    if (!join(getNode(places.front().first, places.front().second),
              getNode(place.first, place.second)))
      return op->emitOpError()
             << "splits examples, which '" << share->axis.getValue()
             << "' takes by weight, together with a dim that it takes in equal "
                "parts; leave --device-weights out";
  return success();
}

LogicalResult BatchShares::visit(Operation *op) {
  auto isSplit = [&](Value value, unsigned dim) {
    return llvm::is_contained(getSharedDims(findSharding(value), *share), dim);
  };
  if (auto sharded = dyn_cast<ShardingRuleOpInterface>(op)) {
    ShardingRule rule = sharded.getShardingRule();
    AxisLists axes = getFactorAxes(op, rule, mesh);
    for (unsigned factor = 0; factor < rule.factors.size(); ++factor) {
      if (!llvm::is_contained(axes[factor], share->axis))
        continue;
      SmallVector<Place> places;
      auto add = [&](Value value, const TensorFactors &tensor) {
        for (unsigned dim = 0; dim < tensor.size(); ++dim)
          if (llvm::is_contained(tensor[dim], factor) && isSplit(value, dim))
            places.push_back({value, dim});
      };
      for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
        add(value, tensor);
      for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
        add(value, tensor);
      if (failed(joinAll(op, places)))
        return failure();
    }
    return success();
  }
  // Layouts change, values do not.
  if (!isa<ReshardOp, AllReduceOp>(op))
    return success();
  for (auto [operand, result] : llvm::zip(op->getOperands(), op->getResults()))
    for (unsigned dim : getSharedDims(findSharding(result), *share))
      if (isSplit(operand, dim) &&
          failed(joinAll(op, {{operand, dim}, {result, dim}})))
        return failure();
  return success();
}

LogicalResult BatchShares::run() {
  if (!share)
    return success();
  Block &block = function.front();
  for (BlockArgument argument : block.getArguments())
    set(argument, function.getArgAttr(argument.getArgNumber(), kVariableAttr)
                      ? Kind::Equal
                      : Kind::Examples);
  for (Operation &op : block.without_terminator())
    if (failed(visit(&op)))
      return failure();
  for (OpOperand &use : block.getTerminator()->getOpOperands())
    if (!set(use.get(),
             function.getResultAttr(use.getOperandNumber(), kVariableAttr)
                 ? Kind::Equal
                 : Kind::Examples))
      return function.emitOpError()
             << "result " << use.getOperandNumber() << " is split over '"
             << share->axis.getValue()
             << "' otherwise than the examples are; leave --device-weights out";
  // The share is the major part, so that each place's examples stand together.
  for (auto &[place, node] : nodes) {
    auto [value, dim] = place;
    if (!isShared(value, dim) ||
        findSharding(value).getAxes(dim).front() == share->axis)
      continue;
    return emitError(value.getLoc())
           << "dim " << dim << " of the examples is split over '"
           << formatAxes(findSharding(value).getAxes(dim)) << "', but '"
           << share->axis.getValue()
           << "' has weights and must come first; leave --device-weights out";
  }
  return success();
}

bool BatchShares::isShared(Value value, unsigned dim) const {
  auto found = nodes.find({value, dim});
  return found != nodes.end() &&
         kinds[findRoot(found->second)] == Kind::Examples;
}

FailureOr<RankedTensorType> BatchShares::getLocalType(Value value,
                                                      ShardingAttr sharding) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    int64_t shards = getNumShards(sharding, dim, mesh);
    if (isShared(value, dim)) {
      if (shape[dim] % share->getTotal())
        return failure();
      shape[dim] = share->getSize(shape[dim]);
      shards /= mesh.getAxisSize(share->axis);
    }
    if (shape[dim] % shards)
      return failure();
    shape[dim] /= shards;
  }
  return RankedTensorType::get(shape, type.getElementType());
}

RankedTensorType BatchShares::getPaddedType(RankedTensorType type,
                                            ShardingAttr sharding,
                                            ArrayRef<Value> values) const {
  RankedTensorType padded = mlir::dist::getPaddedType(type, sharding, mesh);
  SmallVector<int64_t> shape(padded.getShape());
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    if (llvm::any_of(values, [&](Value value) { return isShared(value, dim); }))
      shape[dim] = type.getDimSize(dim);
  return RankedTensorType::get(shape, type.getElementType());
}
