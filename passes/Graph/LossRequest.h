//===- LossRequest.h - Which losses and metrics a user asks for -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the texts of --loss, --metrics and their weights mean, before any entry
// is looked at.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_GRAPH_LOSSREQUEST_H
#define PASSES_GRAPH_LOSSREQUEST_H

#include "passes/Graph/ExampleWeights.h"
#include "passes/Graph/Losses.h"

namespace mlir::dist::graph {

/// A loss that reads one of the outputs.
struct OutputLoss {
  /// Empty: the first.
  std::string output;
  /// Null: `none`.
  const Loss *row = nullptr;
  TrainingSpec spec;
  /// In the sum of several.
  double weight = 1;
};

struct OutputMetric {
  unsigned loss; // whose output it reads
  std::string name;
  TrainingSpec spec;
};

struct LossRequest {
  SmallVector<OutputLoss> losses;
  SmallVector<OutputMetric> metrics;
  ClassWeights classes;
};

/// The options as they were written; see graph-add-loss.
struct LossTexts {
  ArrayRef<std::string> losses, lossWeights, metrics, classWeights;
  StringRef lossOutput, sampleWeights;
};

/// Emits an error where they contradict each other, or name what is not there.
FailureOr<LossRequest>
parseLossRequest(const LossTexts &texts,
                 llvm::function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::dist::graph

#endif // PASSES_GRAPH_LOSSREQUEST_H
