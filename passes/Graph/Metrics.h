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

struct Metric {
  TrainingChoice choice;
  /// f32 values (f64 for f64) with the batch as dim 0; the metric is their
  /// mean. Null after an error given through `emitError`.
  Value (*build)(GraphBuilder &g, const LossInputs &inputs,
                 const TrainingSpec &spec,
                 llvm::function_ref<InFlightDiagnostic()> emitError);
};

const Metric *findMetric(StringRef name);

} // namespace mlir::dist::graph

#endif // PASSES_GRAPH_METRICS_H
