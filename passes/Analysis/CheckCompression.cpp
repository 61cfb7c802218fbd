//===- CheckCompression.cpp - What compressed gradients come to -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/CheckCompression.h"
#include "dialects/Dist/IR/Mesh.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::dist;

/// The argument or result that stands for a variable, of all ranks.
static HostTensor join(ArrayRef<RankTensors> ranks, unsigned number,
                       DictionaryAttr attributes, MeshOp mesh) {
  return joinShards(collectShards(ranks, number),
                    attributes.getAs<ShardingAttr>(DistDialect::kSharding),
                    mesh);
}

FailureOr<SmallVector<CompressedSum>>
mlir::dist::evaluateCompression(func::FuncOp function, MeshOp mesh,
                                ArrayRef<RankTensors> arguments) {
  llvm::MapVector<Attribute, CompressedSum> sums;
  auto observe = [&](Operation *op, ArrayRef<RankTensors> results) {
    Attribute variable = op->getAttr(kCompressedAttr);
    if (!variable)
      return success();
    auto [found, isFirst] = sums.try_emplace(
        variable, CompressedSum{Value(), results[0][0], results[0][0],
                                results[0][0], getOriginName(op)});
    if (isFirst) {
      found->second.gradient = op->getOperand(0);
      return success();
    }
    ShardingAttr sharding = findSharding(op->getResult(0));
    if (!sharding)
      return LogicalResult(op->emitOpError()
                           << "gives what has arrived of a gradient, but has "
                              "no sharding");
    found->second.arrived =
        joinShards(collectShards(results, 0), sharding, mesh);
    return success();
  };
  auto results = evaluateRanks(function, mesh, arguments, observe);
  if (failed(results))
    return failure();
  auto isOf = [](DictionaryAttr attributes, Attribute variable) {
    return attributes && attributes.get(kVariableAttr) == variable;
  };
  SmallVector<CompressedSum> list;
  for (auto &[variable, sum] : sums) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (isOf(function.getArgAttrDict(i), variable))
        sum.leftBefore = join(arguments, i, function.getArgAttrDict(i), mesh);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (isOf(function.getResultAttrDict(i), variable))
        sum.left = join(*results, i, function.getResultAttrDict(i), mesh);
    list.push_back(sum);
  }
  return list;
}

HostTensor mlir::dist::addUp(const HostTensor &a, const HostTensor &b,
                             RankedTensorType type) {
  auto fit = [&](const HostTensor &tensor) {
    return tensor.getType().getShape() == type.getShape()
               ? tensor
               : dropPadding(tensor,
                             type.clone(tensor.getType().getElementType()));
  };
  HostTensor x = fit(a), y = fit(b), sum(type);
  for (int64_t i = 0, e = sum.getNumElements(); i < e; ++i)
    sum.setDouble(i, x.getDouble(i) + y.getDouble(i));
  return sum;
}
