//===- Losses.h - Losses as graph ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_GRAPH_LOSSES_H
#define PASSES_GRAPH_LOSSES_H

#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Graph/TrainingTables.h"

namespace mlir::dist::graph {

/// What losses and metrics are computed from; floats are f32, or f64 for f64.
struct LossInputs {
  /// The model's output.
  Value prediction;
  /// What its softmax or sigmoid starts from, or the output itself when that is
  /// taken for logits; null: the output holds probabilities.
  Value logits;
  Value label;
  /// i1 of the label's shape: which of its elements count; null: all do.
  Value counted;
};

/// The key of losses with class numbers: the label whose elements do not count.
inline constexpr StringRef kIgnoreIndexKey = "ignore-index";

/// Which last op of a model a loss takes into itself.
enum class FusedActivation { None, Softmax, Sigmoid };

struct Loss {
  TrainingChoice choice;
  FusedActivation activation;
  /// Labels are class numbers (without the last dim) rather than one float for
  /// each element of the output.
  bool sparseLabels;
  /// Losses with the batch as dim 0; the mean over the other dims is the
  /// example's loss.
  Value (*build)(GraphBuilder &g, const LossInputs &inputs,
                 const TrainingSpec &spec);
};

ArrayRef<Loss> getLosses();
const Loss *findLoss(StringRef name);

} // namespace mlir::dist::graph

#endif // PASSES_GRAPH_LOSSES_H
