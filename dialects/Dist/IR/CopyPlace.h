//===- CopyPlace.h - Which of the schedule's items a copy is of -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage's function can have the copies of few microbatches only, which show
// what those of all others are: the first ones and the last. They are lowered,
// and the others are made of them then (rt-expand-microbatches). Which item of
// the schedule an op belongs to is kept in its location, which is all that
// patterns hand on to what they replace an op with.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_COPYPLACE_H
#define DIALECTS_DIST_IR_COPYPLACE_H

#include "mlir/IR/Operation.h"
#include <tuple>

namespace mlir::dist {

/// On a stage's function: of how many microbatches it has copies. The batch has
/// as many as `pipeline` says.
inline constexpr llvm::StringLiteral kShownMicrobatchesAttr =
    "dist.shown_microbatches";

/// The microbatch that others are made of, if its kernels are those of the one
/// before: what the first and the second do may be special, since sums begin
/// with the first.
inline constexpr int64_t kPatternMicrobatch = 3;
/// As few as show the others: those up to that one, and the last.
inline constexpr int64_t kLeastShownMicrobatches = kPatternMicrobatch + 2;

/// An item of a stage's schedule.
struct CopyPlace {
  int64_t microbatch = 0, chunk = 0;
  bool backward = false;
  auto asTuple() const { return std::tie(microbatch, chunk, backward); }
  bool operator<(const CopyPlace &other) const {
    return asTuple() < other.asTuple();
  }
  bool operator==(const CopyPlace &other) const {
    return asTuple() == other.asTuple();
  }
};

Location markCopyPlace(Location loc, CopyPlace place);

/// Adds the places marked in the location: several, of ops that became one.
void collectCopyPlaces(Location loc, SmallVectorImpl<CopyPlace> &places);

/// The last microbatch whose copy the op is, by its location; -1: it is no
/// copy.
int64_t findMicrobatch(Operation *op);

/// The location as it was before places were marked.
Location dropCopyPlaces(Location loc);

} // namespace mlir::dist

#endif // DIALECTS_DIST_IR_COPYPLACE_H
