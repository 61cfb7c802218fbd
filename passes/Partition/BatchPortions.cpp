//===- BatchPortions.cpp - Which dims are split by weight -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/BatchPortions.h"
#include "passes/Partition/FactorSharding.h"

using namespace mlir;
using namespace mlir::dist;

BatchPortions::BatchPortions(func::FuncOp function, MeshOp mesh)
    : function(function), mesh(mesh), portion(findPortion(function)) {}

unsigned BatchPortions::getNode(Value value, unsigned dim) {
  auto [found, added] = nodes.try_emplace({value, dim}, parents.size());
  if (added) {
    parents.push_back(parents.size());
    kinds.push_back(Kind::Unknown);
  }
  return found->second;
}

unsigned BatchPortions::findRoot(unsigned node) const {
  while (parents[node] != node)
    node = parents[node];
  return node;
}

bool BatchPortions::join(unsigned a, unsigned b) {
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

bool BatchPortions::set(Value value, Kind kind) {
  for (unsigned dim : getPortionDims(findSharding(value), *portion)) {
    Kind &known = kinds[findRoot(getNode(value, dim))];
    if (known != Kind::Unknown && known != kind)
      return false;
    known = kind;
  }
  return true;
}

LogicalResult BatchPortions::joinAll(Operation *op, ArrayRef<ValueDim> dims) {
  for (ValueDim dim : dims.drop_front(dims.empty() ? 0 : 1))
    if (!join(getNode(dims.front().first, dims.front().second),
              getNode(dim.first, dim.second)))
      return op->emitOpError()
             << "splits examples, which '" << portion->axis.getValue()
             << "' takes by weight, together with a dim that it takes in equal "
                "parts; leave --device-weights out";
  return success();
}

LogicalResult BatchPortions::visit(Operation *op) {
  auto isSplit = [&](Value value, unsigned dim) {
    return llvm::is_contained(getPortionDims(findSharding(value), *portion),
                              dim);
  };
  if (auto sharded = dyn_cast<ShardingRuleOpInterface>(op)) {
    ShardingRule rule = sharded.getShardingRule();
    AxisLists axes = getFactorAxes(op, rule, mesh);
    for (unsigned factor = 0; factor < rule.factors.size(); ++factor) {
      if (!llvm::is_contained(axes[factor], portion->axis))
        continue;
      SmallVector<ValueDim> dims;
      auto add = [&](Value value, const TensorFactors &tensor) {
        for (unsigned dim = 0; dim < tensor.size(); ++dim)
          if (llvm::is_contained(tensor[dim], factor) && isSplit(value, dim))
            dims.push_back({value, dim});
      };
      for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
        add(value, tensor);
      for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
        add(value, tensor);
      if (failed(joinAll(op, dims)))
        return failure();
    }
    return success();
  }
  // Layouts change, values do not.
  if (!isa<ReshardOp, AllReduceOp>(op))
    return success();
  for (auto [operand, result] : llvm::zip(op->getOperands(), op->getResults()))
    for (unsigned dim : getPortionDims(findSharding(result), *portion))
      if (isSplit(operand, dim) &&
          failed(joinAll(op, {{operand, dim}, {result, dim}})))
        return failure();
  return success();
}

LogicalResult BatchPortions::run() {
  if (!portion)
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
             << portion->axis.getValue()
             << "' otherwise than the examples are; leave --device-weights out";
  // The portion is the major part, so that one position's examples are
  // neighbours.
  for (auto &[valueDim, node] : nodes) {
    auto [value, dim] = valueDim;
    if (!isPortion(value, dim) ||
        findSharding(value).getAxes(dim).front() == portion->axis)
      continue;
    return emitError(value.getLoc())
           << "dim " << dim << " of the examples is split over '"
           << formatAxes(findSharding(value).getAxes(dim)) << "', but '"
           << portion->axis.getValue()
           << "' has weights and must come first; leave --device-weights out";
  }
  return success();
}

bool BatchPortions::isPortion(Value value, unsigned dim) const {
  auto found = nodes.find({value, dim});
  return found != nodes.end() &&
         kinds[findRoot(found->second)] == Kind::Examples;
}

FailureOr<RankedTensorType> BatchPortions::getLocalType(Value value,
                                                        ShardingAttr sharding) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    int64_t shards = getNumShards(sharding, dim, mesh);
    if (isPortion(value, dim)) {
      if (shape[dim] % portion->getTotal())
        return failure();
      shape[dim] = portion->getSize(shape[dim]);
      shards /= mesh.getAxisSize(portion->axis);
    }
    if (shape[dim] % shards)
      return failure();
    shape[dim] /= shards;
  }
  return RankedTensorType::get(shape, type.getElementType());
}

RankedTensorType BatchPortions::getPaddedType(RankedTensorType type,
                                              ShardingAttr sharding,
                                              ArrayRef<Value> values) const {
  RankedTensorType padded = mlir::dist::getPaddedType(type, sharding, mesh);
  SmallVector<int64_t> shape(padded.getShape());
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    if (llvm::any_of(values,
                     [&](Value value) { return isPortion(value, dim); }))
      shape[dim] = type.getDimSize(dim);
  return RankedTensorType::get(shape, type.getElementType());
}
