//===- Reshard.h - Collectives that change a layout -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_RESHARD_H
#define PASSES_PARTITION_RESHARD_H

#include "dialects/Dist/IR/Mesh.h"

namespace mlir::dist {

/// Emits the collectives that turn the local part of a tensor with sharding
/// `from` into that with sharding `to`; gives the new local part.
///
/// The steps, repeated until the layouts agree: partial sums are completed (by
/// a reduce_scatter if a dim is to be split over that axis anyway); dims that
/// only lack axes are cut (early, so that later steps are small); an axis that
/// moves between dims is an all_to_all; what is left over is gathered. A whole
/// value that is to be a sum is divided by the number of ranks.
Value emitReshard(OpBuilder &builder, Location loc, Value local,
                  ShardingAttr from, ShardingAttr to, MeshOp mesh,
                  StringRef reason, StringRef origin);

} // namespace mlir::dist

#endif // PASSES_PARTITION_RESHARD_H
