//===- bench.cpp - Timing steps -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/bench.h"
#include "runtime/train/trainer.h"
#include <algorithm>
#include <chrono>

namespace dist {

using Clock = std::chrono::steady_clock;

/// Different batches, so that no step finds all its data in the first cache.
static constexpr int64_t kBatches = 4;
static constexpr int64_t kMostSteps = 1'000'000;

Status bench(Session &session, const BenchOptions &options, BenchResult *out) {
  const manifest::Entry *entry =
      options.train ? trainingEntry(session) : session.findEntry("predict");
  if (!entry)
    return Status::error(StatusCode::InvalidInput, "nothing to time",
                         session.manifest().model_name(),
                         "the program has no training step",
                         "compile it with --loss, or give --mode predict");
  EntryCall call, apply;
  DIST_RETURN_IF_ERROR(EntryCall::create(session, entry->name(), &call));
  int64_t accumulate = std::max(session.manifest().accumulate_steps(), 1);
  bool accumulates = options.train && accumulate > 1;
  if (accumulates)
    DIST_RETURN_IF_ERROR(EntryCall::create(session, "apply", &apply));
  BatchPlan plan;
  plan.rows = plan.batch = std::max<int64_t>(batchRows(*entry), 1);
  if (int64_t batch = session.manifest().global_batch();
      batch > 0 && batch < plan.batch)
    plan.batch = batch;
  setReplicas(session.manifest(), *entry, &plan);
  plan.prefetch = 0;
  plan.endBatch = kBatches;
  std::unique_ptr<Dataset> data =
      Dataset::random(*entry, plan.batch * kBatches, options.seed);
  // Made beforehand: the step is timed, not the data.
  std::vector<std::unique_ptr<BatchStream>> streams;
  std::vector<const Batch *> batches;
  for (int64_t i = 0; i < kBatches; ++i) {
    plan.firstBatch = i;
    streams.push_back(std::make_unique<BatchStream>(*data, plan));
    batches.push_back(streams.back()->next());
  }

  std::vector<double> times;
  int64_t done = 0;
  auto step = [&]() -> Status {
    StepResult result;
    DIST_RETURN_IF_ERROR(call.run(*batches[done % kBatches], &result));
    if (++done % accumulate == 0 && accumulates)
      DIST_RETURN_IF_ERROR(apply.run(*batches[0], &result));
    return Status();
  };
  Clock::time_point begin = Clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  double warmUp = std::min(options.seconds * 0.1, 1.0);
  do {
    DIST_RETURN_IF_ERROR(step());
    if (done == 1)
      out->firstSeconds = elapsed();
  } while (done < 5 || elapsed() < warmUp);
  begin = Clock::now();
  double last = 0, aside = 0;
  while (times.size() < 5 ||
         (last < options.seconds && int64_t(times.size()) < kMostSteps)) {
    DIST_RETURN_IF_ERROR(step());
    double time = elapsed() - aside;
    times.push_back(time - last);
    last = time;
    if (options.afterStep) {
      options.afterStep();
      aside = elapsed() - last;
    }
  }
  out->steps = int64_t(times.size());
  out->examplesPerStep = plan.batch;
  out->meanMs = last * 1e3 / double(times.size());
  auto middle = times.begin() + times.size() / 2;
  std::nth_element(times.begin(), middle, times.end());
  out->medianMs = *middle * 1e3;
  out->bestMs = *std::min_element(times.begin(), times.end()) * 1e3;
  out->examplesPerSecond = double(plan.batch) / *middle;
  return Status();
}

} // namespace dist
