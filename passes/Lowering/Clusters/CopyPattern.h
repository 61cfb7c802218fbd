//===- CopyPattern.h - How an op differs from copy to copy ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_CLUSTERS_COPYPATTERN_H
#define PASSES_LOWERING_CLUSTERS_COPYPATTERN_H

#include "dialects/Dist/IR/CopyPlace.h"

namespace mlir::dist {

/// A number, or several, in an attribute that the copies of kPatternMicrobatch
/// and of the one before have.
struct CopyChange {
  /// Of which op: the copy itself, or one in its regions, in the order of a
  /// walk from the outside.
  unsigned inner = 0;
  StringAttr name;
  Attribute before, pattern;

  /// What the copy of a microbatch has. Null where it does not follow, as for
  /// texts.
  Attribute getFor(int64_t microbatch) const;
};

/// Whether the copies of the two are the same op but for numbers, which become
/// `changes`. Their operands are not looked at, nor the numbers of collectives.
LogicalResult compareCopiedOps(Operation *before, Operation *pattern,
                               SmallVectorImpl<CopyChange> &changes);

/// Whether `op` has what the changes of `pattern` lead to in a microbatch.
bool hasChanges(Operation *op, Operation *pattern, ArrayRef<CopyChange> changes,
                int64_t microbatch);

/// Makes a clone of the pattern's copy that of another microbatch.
void applyChanges(Operation *copy, ArrayRef<CopyChange> changes,
                  int64_t microbatch);

} // namespace mlir::dist

#endif // PASSES_LOWERING_CLUSTERS_COPYPATTERN_H
