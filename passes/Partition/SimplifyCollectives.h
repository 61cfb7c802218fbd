//===- SimplifyCollectives.h - Less communication, the same values --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_SIMPLIFYCOLLECTIVES_H
#define PASSES_PARTITION_SIMPLIFYCOLLECTIVES_H

#include "dialects/Dist/IR/Mesh.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::dist {

using AxisNames = SmallVector<StringAttr>;

/// Whether every rank along `axes` holds the same `value`, as its sharding (or
/// its being a constant) says.
bool isUniform(Value value, ArrayRef<StringAttr> axes);

/// Collectives of collectives that are one, or none. Over the axis `sumFirst`,
/// if any (the patterns refer to it), values are summed before they are
/// scattered over others.
void populateCollectivePairPatterns(RewritePatternSet &patterns, MeshOp mesh,
                                    StringRef sumFirst);
/// Reductions after linear ops, cuts before any.
void populateCollectiveMotionPatterns(RewritePatternSet &patterns, MeshOp mesh);

} // namespace mlir::dist

#endif // PASSES_PARTITION_SIMPLIFYCOLLECTIVES_H
