//===- RowFactors.cpp - Which dims of an op are its rows ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/RowFactors.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::hasAsRows(const TensorFactors &tensor, unsigned factor) {
  for (auto [dim, factors] : llvm::enumerate(tensor))
    if (llvm::is_contained(factors, factor) && (dim || factors.size() != 1))
      return false;
  return !tensor.empty() && llvm::is_contained(tensor[0], factor);
}

bool mlir::dist::hasAnywhere(const TensorFactors &tensor, unsigned factor) {
  return llvm::any_of(tensor, [&](const DimFactors &factors) {
    return llvm::is_contained(factors, factor);
  });
}

FailureOr<Operation *> mlir::dist::cloneWithRows(OpBuilder &builder,
                                                 Operation *op,
                                                 ValueRange operands,
                                                 Type type) {
  auto sharded = cast<ShardingRuleOpInterface>(op);
  SmallVector<int64_t> shards(sharded.getShardingRule().factors.size(), 1);
  FailureOr<Operation *> copy =
      sharded.partition(builder, operands, type, shards);
  if (succeeded(copy))
    (*copy)->setLoc(op->getLoc());
  return copy;
}
