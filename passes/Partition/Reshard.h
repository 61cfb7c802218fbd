//===- Reshard.h - Collectives that change a layout -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_RESHARD_H
#define PASSES_PARTITION_RESHARD_H

#include "passes/Partition/ReshardPlan.h"

namespace mlir::dist {

/// Emits the collectives that turn the local part of a tensor with sharding
/// `from` into that with sharding `to`, as `planReshard` says; gives the new
/// local part. A whole value that is to be a sum is divided by the number of
/// ranks. Both shardings must divide all dims.
Value emitReshard(OpBuilder &builder, Location loc, Value local,
                  ShardingAttr from, ShardingAttr to, MeshOp mesh,
                  StringRef reason, StringRef origin);

/// The same for a plan that was made before, of a tensor of type `global`.
Value emitPlan(OpBuilder &builder, Location loc, Value local,
               RankedTensorType global, const ReshardPlan &plan, MeshOp mesh,
               StringRef reason, StringRef origin);

} // namespace mlir::dist

#endif // PASSES_PARTITION_RESHARD_H
