//===- FactorConflicts.h - Which split a factor gets -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The policy of dist-propagate-sharding, apart from how it spreads: tensors of
// one op may split a factor over different axes, and one of them has its way.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_FACTORCONFLICTS_H
#define PASSES_PARTITION_FACTORCONFLICTS_H

#include "passes/Partition/FactorSharding.h"

namespace mlir::dist {

struct PropagationState;

/// How one tensor splits a factor.
struct FactorSplit {
  AxisList axes;
  int64_t bytes = 0;
  /// The tensor's.
  const PropagationState *state = nullptr;
};

enum class OnConflict {
  /// The axes that all agree on spread; the rest waits for others to decide.
  KeepCommon,
  /// The largest tensor's axes spread: to move the others costs less.
  TakeLargest,
};

/// The axes that all tensors of the op get for the factor. Where each split is
/// the beginning of the longest, that is it.
AxisList chooseSplit(ArrayRef<FactorSplit> splits, OnConflict onConflict);

} // namespace mlir::dist

#endif // PASSES_PARTITION_FACTORCONFLICTS_H
