//===- WinogradPlan.h - Whether and how to use Winograd -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_WINOGRAD_WINOGRADPLAN_H
#define PASSES_LOWERING_WINOGRAD_WINOGRADPLAN_H

#include "passes/Lowering/Winograd/Winograd.h"

namespace mlir::dist {

enum class WinogradUse {
  Convolution,
  /// Whose filter is transformed once, not at every step.
  Prepared,
  FilterGrad,
};

/// How a convolution is cut into blocks.
struct WinogradPlan {
  int64_t inputs, outputs; // channels
  int64_t lanes;
  /// Output channels that are multiplied at once; 4 tiles of them fill the
  /// registers.
  int64_t columns;
  /// Input channels of which a panel has the factors.
  int64_t depth;
  /// Tiles of 4x4: all, and those of a block.
  int64_t tiles, blockTiles;
  /// A filter's factors, or the sums of its gradient, are never whole in
  /// memory.
  bool hasPanels = false;

  int64_t getBlocks() const { return (tiles + blockTiles - 1) / blockTiles; }
};

/// The fastest plan for channels-last images; none where the target computes
/// the convolution otherwise. `output` is what the tiles cover.
std::optional<WinogradPlan> planWinograd(RankedTensorType input,
                                         RankedTensorType output,
                                         WinogradUse use,
                                         const ConvolutionTarget &target);

} // namespace mlir::dist

#endif // PASSES_LOWERING_WINOGRAD_WINOGRADPLAN_H
