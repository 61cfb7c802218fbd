//===- Portion.h - Parts of the batch that are not equal -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where devices are unequal, the positions of one mesh axis take parts of the
// batch in proportion to their weights. Shapes differ then, and so each
// position has a program of its own, whose functions say which it is
// (`dist.portion`). Everything else that is split over the axis has equal
// parts.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_PORTION_H
#define DIALECTS_DIST_IR_PORTION_H

#include "dialects/Dist/IR/Dist.h"
#include <optional>

namespace mlir::dist {

inline constexpr llvm::StringLiteral kPortionAttr = "dist.portion";

/// One position's part of the examples.
struct Portion {
  StringAttr axis;
  int64_t position;
  ArrayRef<int64_t> weights; // of all positions

  int64_t getTotal() const;
  /// Where the part of a dim of `size` begins, and how large it is; `size` is a
  /// multiple of the total.
  int64_t getStart(int64_t size) const;
  int64_t getSize(int64_t size) const;
};

/// The portion of a function, or of what it was lowered to; none: all ranks run
/// it.
std::optional<Portion> findPortion(Operation *function);
DictionaryAttr getPortionAttr(const Portion &portion);
LogicalResult verifyPortion(Operation *op, Attribute attribute);

/// A position's part of a tensor of examples: cut along the dims that
/// `sharding` splits over the portion's axis, which it names no longer then.
HostTensor cutPortion(const HostTensor &global, const Portion &portion,
                      ShardingAttr &sharding);

/// The dims of `sharding` that are split over the portion's axis.
SmallVector<unsigned> getPortionDims(ShardingAttr sharding,
                                     const Portion &portion);

} // namespace mlir::dist

#endif // DIALECTS_DIST_IR_PORTION_H
