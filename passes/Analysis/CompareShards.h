//===- CompareShards.h - What ranks hold against the whole -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numeric side of --check: how far one value's shards are from the whole
// value, and which value of all is the first to be too far. Which shards belong
// to which value is CheckPartition.cpp's.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_COMPARESHARDS_H
#define PASSES_ANALYSIS_COMPARESHARDS_H

#include "dialects/Dist/IR/Mesh.h"
#include "passes/Analysis/CheckPartition.h"

namespace mlir::dist {

class ShardComparison {
public:
  /// Writes to `check`. Meshes are found from `inside`.
  ShardComparison(Operation *inside, const CheckOptions &options,
                  FunctionCheck &check);

  /// `when` orders the values as the program computes them: the earliest that
  /// differs is named.
  void compare(ArrayRef<HostTensor> shards, ShardingAttr sharding,
               const HostTensor &whole, StringRef op, StringRef place,
               int64_t when);

private:
  /// Of each tensor's largest magnitude; see cli's --check.
  double getTolerance(Type elementType) const;
  HostTensor join(ArrayRef<HostTensor> shards, ShardingAttr sharding,
                  const HostTensor &whole, double &copyDifference) const;

  Operation *inside;
  const CheckOptions &options;
  FunctionCheck &check;
  bool ofDoubles;
  /// When check.first came.
  int64_t firstWhen = 0;
};

/// The mesh a sharding is over.
MeshOp getMeshOf(ShardingAttr sharding, Operation *inside);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_COMPARESHARDS_H
