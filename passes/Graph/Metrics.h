//===- Metrics.h - Metrics as graph ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_GRAPH_METRICS_H
#define PASSES_GRAPH_METRICS_H

#include "passes/Graph/Losses.h"

namespace mlir::dist::graph {

/// What a metric keeps over the batches of an epoch.
enum class MetricState {
  /// The sum of the examples' means, and how many they are.
  Mean,
  /// How many predictions of positives and of negatives lie between each two
  /// thresholds, `counts` [2, thresholds - 1]; what reads them takes the area
  /// under the curve of true positives over false positives.
  Curve,
};

struct Metric {
  TrainingChoice choice;
  /// f32 values (f64 for f64) with the batch as dim 0: those to take the mean
  /// of, or each example's counts. Null after an error given through
  /// `emitError`.
  Value (*build)(GraphBuilder &g, const LossInputs &inputs,
                 const TrainingSpec &spec,
                 llvm::function_ref<InFlightDiagnostic()> emitError);
  MetricState state = MetricState::Mean;
};

const Metric *findMetric(StringRef name);

} // namespace mlir::dist::graph

#endif // PASSES_GRAPH_METRICS_H
