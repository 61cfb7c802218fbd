//===- Schedules.h - Learning rates as graph ops -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_GRAPH_SCHEDULES_H
#define PASSES_GRAPH_SCHEDULES_H

#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Graph/TrainingTables.h"

namespace mlir::dist::graph {

/// The learning rate (an f32 scalar) after `iteration` (an i64 scalar) updates,
/// `rate` being the optimizer's `lr` (an f32 scalar).
Value buildLearningRate(GraphBuilder &g, const TrainingSpec &schedule,
                        Value rate, Value iteration);

} // namespace mlir::dist::graph

#endif // PASSES_GRAPH_SCHEDULES_H
