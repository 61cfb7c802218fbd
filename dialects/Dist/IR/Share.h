//===- Share.h - Parts of the batch that are not equal -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where devices are unequal, the places of one mesh axis take parts of the
// batch in proportion to their weights. Shapes differ then, and so each place
// has a program of its own, whose functions say which it is (`dist.share`).
// Everything else that is split over the axis has equal parts.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_SHARE_H
#define DIALECTS_DIST_IR_SHARE_H

#include "dialects/Dist/IR/Dist.h"
#include <optional>

namespace mlir::dist {

inline constexpr llvm::StringLiteral kShareAttr = "dist.share";

/// One place's part of the examples.
struct Share {
  StringAttr axis;
  int64_t place;
  ArrayRef<int64_t> weights; // of all places

  int64_t getTotal() const;
  /// Where the part of a dim of `size` begins, and how large it is; `size` is a
  /// multiple of the total.
  int64_t getStart(int64_t size) const;
  int64_t getSize(int64_t size) const;
};

/// The share of a function, or of what it was lowered to; none: all ranks run
/// it.
std::optional<Share> findShare(Operation *function);
DictionaryAttr getShareAttr(const Share &share);
LogicalResult verifyShare(Operation *op, Attribute attribute);

/// A place's part of a tensor of examples: cut along the dims that `sharding`
/// splits over the share's axis, which it names no longer then.
HostTensor cutShare(const HostTensor &global, const Share &share,
                    ShardingAttr &sharding);

/// The dims of `sharding` that are split over the share's axis.
SmallVector<unsigned> getSharedDims(ShardingAttr sharding, const Share &share);

} // namespace mlir::dist

#endif // DIALECTS_DIST_IR_SHARE_H
