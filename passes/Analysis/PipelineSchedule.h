//===- PipelineSchedule.h - Orders of a pipeline's work -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule is data: for each stage, the order of its items. An item is the
// forward or the backward work of one chunk of the model on one microbatch;
// stage s has the chunks s, s + stages, s + 2 stages, ...
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_PIPELINESCHEDULE_H
#define PASSES_ANALYSIS_PIPELINESCHEDULE_H

#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir::dist {

/// On the functions of a stage: the schedule, and what it costs.
inline constexpr llvm::StringLiteral kPipelineAttr = "pipeline";

struct PipelineItem {
  int64_t chunk = 0, microbatch = 0;
  bool backward = false;
};

struct PipelineShape {
  int64_t stages = 1, chunks = 1, microbatches = 1;
  /// False: forward items only.
  bool training = true;
};

/// What the function of a stage says of its pipeline.
struct StagePipeline {
  StringRef schedule;
  /// Whether it trains is not said.
  PipelineShape shape;
  int64_t stage = 0;
  struct Cost {
    double bubble = 0;
    ArrayRef<int64_t> inFlight; // by stage
  };
  std::optional<Cost> cost;
};

/// None: the function is of no stage, or does not say its schedule and shape.
std::optional<StagePipeline> findStagePipeline(Operation *function);

using PipelineOrder = std::vector<std::vector<PipelineItem>>;

/// The names of the schedules: gpipe, 1f1b, interleaved.
ArrayRef<StringRef> listPipelineSchedules();

/// The order of a schedule. Fails with the reason in `error` where the shape
/// does not fit it.
FailureOr<PipelineOrder> makePipelineOrder(StringRef schedule,
                                           const PipelineShape &shape,
                                           std::string &error);

/// What running an order takes.
struct PipelineTimeline {
  /// Start of each item, in the order's places.
  std::vector<std::vector<double>> start;
  double length = 0;
  /// The part of the stages' time in which they wait.
  double bubble = 0;
  /// Microbatches whose forward work a stage has done and whose backward work
  /// it has not, counted over its chunks, at most.
  std::vector<int64_t> inFlight;
};

/// Runs the order with these times of a chunk's forward and backward work. An
/// item waits for the chunk before it (backward: after it) on its microbatch.
/// Fails if the order waits for itself.
FailureOr<PipelineTimeline> simulatePipeline(const PipelineOrder &order,
                                             const PipelineShape &shape,
                                             ArrayRef<double> forward,
                                             ArrayRef<double> backward);

/// A schedule's order, and when its items start.
struct PipelinePlan {
  PipelineOrder order;
  PipelineTimeline timeline;
};

/// Runs a schedule's order with backward work that takes twice the forward's:
/// only the order counts. Fails with the reason in `error`.
FailureOr<PipelinePlan> planPipeline(StringRef schedule,
                                     const PipelineShape &shape,
                                     std::string &error);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_PIPELINESCHEDULE_H
