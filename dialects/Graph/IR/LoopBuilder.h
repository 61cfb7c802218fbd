//===- LoopBuilder.h - Loops inside the code of one element -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Contractions and windows reduce while they make one element: nests of
// `scf.for` that carry accumulators, and positions that may lie in padding.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_LOOPBUILDER_H
#define DIALECTS_GRAPH_IR_LOOPBUILDER_H

#include "dialects/Graph/IR/ScalarBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::dist {

/// One step of a reduction: the loops' positions and the accumulators so far,
/// giving the next accumulators.
using ReductionBody = llvm::function_ref<SmallVector<Value>(
    ValueRange positions, ValueRange accumulators)>;

/// Runs `body` at every index of `sizes`, in row-major order, with
/// `accumulators` carried along; gives their last values.
SmallVector<Value> emitReductionLoops(ScalarBuilder &s, ArrayRef<int64_t> sizes,
                                      ValueRange accumulators,
                                      ReductionBody body);
/// The same with the loops unrolled while building.
SmallVector<Value> emitUnrolledLoops(ScalarBuilder &s, ArrayRef<int64_t> sizes,
                                     ValueRange accumulators,
                                     ReductionBody body);

/// Positions that may lie outside of a tensor: loads need them inside, and
/// `select` needs to know.
class BoundsGuard {
public:
  explicit BoundsGuard(ScalarBuilder &s) : s(s) {}
  /// `position`, moved into [0, size) where it can be below (`low`) or above
  /// (`high`); such a position makes `inside` false.
  Value clamp(Value position, int64_t size, bool low, bool high);
  void require(Value condition);
  /// `value` inside, else `otherwise`.
  Value select(Value value, Value otherwise) {
    return inside ? s.select(inside, value, otherwise) : value;
  }
  /// Null when always inside.
  Value getInside() const { return inside; }

private:
  ScalarBuilder &s;
  Value inside;
};

} // namespace mlir::dist

#endif // DIALECTS_GRAPH_IR_LOOPBUILDER_H
