//===- StageBoundary.h - What stages of a pipeline send back -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a value that several ops of the next stage read is their sum:
// it belongs to the stage that made the value, but is summed before it is sent.
// In general some backward ops can be of either stage. What the later one sends
// is a minimum cut through them.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_STAGEBOUNDARY_H
#define PASSES_ANALYSIS_STAGEBOUNDARY_H

#include "passes/Analysis/StageAssignment.h"

namespace mlir::dist {

/// Moves backward ops to the later stage that has all that they read, where
/// fewer bytes are sent so.
void moveBehindSends(Block &block, StageAssignment &stages);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_STAGEBOUNDARY_H
