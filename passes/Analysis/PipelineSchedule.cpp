//===- PipelineSchedule.cpp - Orders of a pipeline's work -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/PipelineSchedule.h"
#include "dialects/Dist/IR/Stage.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// How a schedule orders a stage's forward and backward items, and how many of
/// the former come before the first of the latter.
struct Row {
  StringRef name;
  bool interleaves;
  int64_t (*warmUp)(const PipelineShape &shape, int64_t stage);
};
} // namespace

static const Row rows[] = {
    // All forward, then all backward.
    {"gpipe", false,
     [](const PipelineShape &shape, int64_t) { return shape.microbatches; }},
    // One forward, one backward, as soon as the first one comes back: no more
    // microbatches are in flight than there are stages behind.
    {"1f1b", false,
     [](const PipelineShape &shape, int64_t stage) {
       return std::min(shape.microbatches, shape.stages - stage - 1);
     }},
    // The same over several chunks a stage, in rounds of as many microbatches
    // as there are stages (Megatron's): the bubble shrinks by the chunks.
    {"interleaved", true,
     [](const PipelineShape &shape, int64_t stage) {
       int64_t perStage = shape.chunks / shape.stages;
       return std::min(perStage * shape.microbatches,
                       2 * (shape.stages - stage - 1) +
                           (perStage - 1) * shape.stages);
     }},
};

ArrayRef<StringRef> mlir::dist::listPipelineSchedules() {
  static const SmallVector<StringRef> names = llvm::to_vector(
      llvm::map_range(rows, [](const Row &row) { return row.name; }));
  return names;
}

/// Forward or backward items of one stage.
static std::vector<PipelineItem> listItems(const PipelineShape &shape,
                                           int64_t stage, bool backward) {
  std::vector<PipelineItem> items;
  int64_t perStage = shape.chunks / shape.stages;
  int64_t round = perStage == 1 ? shape.microbatches : shape.stages;
  for (int64_t first = 0; first < shape.microbatches; first += round)
    for (int64_t i = 0; i < perStage; ++i) {
      int64_t chunk = backward ? perStage - 1 - i : i;
      for (int64_t m = first; m < std::min(first + round, shape.microbatches);
           ++m)
        items.push_back({chunk * shape.stages + stage, m, backward});
    }
  return items;
}

FailureOr<PipelineOrder>
mlir::dist::makePipelineOrder(StringRef schedule, const PipelineShape &shape,
                              std::string &error) {
  const Row *row =
      llvm::find_if(rows, [&](const Row &row) { return row.name == schedule; });
  if (row == std::end(rows)) {
    error = "expected a schedule of " +
            llvm::join(listPipelineSchedules(), ", ") + ", but got '" +
            schedule.str() + "'";
    return failure();
  }
  if (shape.chunks % shape.stages) {
    error = "expected the chunks of the model to divide by the " +
            std::to_string(shape.stages) + " stages, but got " +
            std::to_string(shape.chunks);
    return failure();
  }
  if (!row->interleaves && shape.chunks != shape.stages) {
    error = "schedule '" + schedule.str() +
            "' has one chunk a stage; use interleaved for several";
    return failure();
  }
  if (row->interleaves && shape.microbatches % shape.stages) {
    error = "schedule 'interleaved' goes in rounds of as many microbatches as "
            "stages; make the microbatches a multiple of " +
            std::to_string(shape.stages);
    return failure();
  }
  PipelineOrder order(shape.stages);
  for (int64_t stage = 0; stage < shape.stages; ++stage) {
    std::vector<PipelineItem> forward = listItems(shape, stage, false);
    if (!shape.training) {
      order[stage] = forward;
      continue;
    }
    std::vector<PipelineItem> backward = listItems(shape, stage, true);
    size_t next = row->warmUp(shape, stage);
    order[stage].assign(forward.begin(), forward.begin() + next);
    for (const PipelineItem &item : backward) {
      if (next < forward.size())
        order[stage].push_back(forward[next++]);
      order[stage].push_back(item);
    }
  }
  return order;
}

FailureOr<PipelineTimeline> mlir::dist::simulatePipeline(
    const PipelineOrder &order, const PipelineShape &shape,
    ArrayRef<double> forward, ArrayRef<double> backward) {
  PipelineTimeline timeline;
  // When an item is done; by chunk, microbatch and direction.
  std::vector<double> done(shape.chunks * shape.microbatches * 2, -1);
  auto find = [&](int64_t chunk, int64_t microbatch,
                  bool isBackward) -> double & {
    return done[(chunk * shape.microbatches + microbatch) * 2 + isBackward];
  };
  int64_t stages = order.size();
  std::vector<size_t> next(stages, 0);
  std::vector<double> free(stages, 0);
  timeline.start.resize(stages);
  timeline.inFlight.assign(stages, 0);
  std::vector<int64_t> alive(stages, 0);
  double work = 0;
  bool moved = true;
  while (moved) {
    moved = false;
    for (int64_t stage = 0; stage < stages; ++stage) {
      while (next[stage] < order[stage].size()) {
        const PipelineItem &item = order[stage][next[stage]];
        double ready = 0;
        auto need = [&](int64_t chunk, bool isBackward) {
          double time = find(chunk, item.microbatch, isBackward);
          ready = time < 0 || ready < 0 ? -1 : std::max(ready, time);
        };
        if (item.backward) {
          need(item.chunk, false);
          if (item.chunk + 1 < shape.chunks)
            need(item.chunk + 1, true);
        } else if (item.chunk > 0) {
          need(item.chunk - 1, false);
        }
        if (ready < 0)
          break;
        double start = std::max(ready, free[stage]);
        double time = (item.backward ? backward : forward)[item.chunk];
        timeline.start[stage].push_back(start);
        free[stage] = start + time;
        find(item.chunk, item.microbatch, item.backward) = free[stage];
        work += time;
        alive[stage] += item.backward ? -1 : 1;
        timeline.inFlight[stage] =
            std::max(timeline.inFlight[stage], alive[stage]);
        ++next[stage];
        moved = true;
      }
    }
  }
  for (int64_t stage = 0; stage < stages; ++stage) {
    if (next[stage] != order[stage].size())
      return failure();
    timeline.length = std::max(timeline.length, free[stage]);
  }
  if (timeline.length > 0)
    timeline.bubble = 1 - work / (stages * timeline.length);
  return timeline;
}

std::optional<StagePipeline>
mlir::dist::findStagePipeline(Operation *function) {
  auto pipeline = function->getAttrOfType<DictionaryAttr>(kPipelineAttr);
  auto stage = function->getAttrOfType<IntegerAttr>(kStageAttr);
  if (!pipeline || !stage)
    return std::nullopt;
  auto number = [&](StringRef name) {
    auto value = pipeline.getAs<IntegerAttr>(name);
    return value ? value.getInt() : 0;
  };
  auto schedule = pipeline.getAs<StringAttr>("schedule");
  auto bubble = pipeline.getAs<FloatAttr>("bubble");
  auto inFlight = pipeline.getAs<DenseI64ArrayAttr>("in_flight");
  StagePipeline result;
  result.shape.stages = number("stages");
  result.shape.chunks = number("chunks");
  result.shape.microbatches = number("microbatches");
  result.stage = stage.getInt();
  if (!schedule || result.shape.chunks < 1 || result.shape.microbatches < 1 ||
      result.stage < 0 || result.stage >= result.shape.stages)
    return std::nullopt;
  result.schedule = schedule.getValue();
  if (bubble && inFlight && inFlight.size() == result.shape.stages)
    result.cost = {bubble.getValueAsDouble(), inFlight.asArrayRef()};
  return result;
}

FailureOr<PipelinePlan> mlir::dist::planPipeline(StringRef schedule,
                                                 const PipelineShape &shape,
                                                 std::string &error) {
  auto order = makePipelineOrder(schedule, shape, error);
  if (failed(order))
    return failure();
  SmallVector<double> forward(shape.chunks, 1), backward(shape.chunks, 2);
  auto timeline = simulatePipeline(*order, shape, forward, backward);
  if (failed(timeline)) {
    error = "schedule '" + schedule.str() + "' waits for itself";
    return failure();
  }
  return PipelinePlan{std::move(*order), std::move(*timeline)};
}
