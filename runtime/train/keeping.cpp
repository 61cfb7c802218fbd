//===- keeping.cpp - Going on from a state --------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/keeping.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>

namespace dist {

/// Part of the time of training that copies may take.
static constexpr double kCopyingPart = 0.02;
/// The first step, and the first copy into new memory, take longer than others.
static constexpr int64_t kFirstSteps = 2;

Status Keeping::keep(const TrainingState &state, double stepSeconds) {
  if (!kept || state.step < next)
    return Status();
  bool isFirst = kept->empty();
  auto began = std::chrono::steady_clock::now();
  DIST_RETURN_IF_ERROR(kept->keep(session, state));
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  if (!isFirst && every == 0) {
    double wanted = took.count() / (kCopyingPart * std::max(stepSeconds, 1e-9));
    std::vector<std::string> all;
    DIST_RETURN_IF_ERROR(session.exchange(
        std::to_string(int64_t(std::min(wanted, 1e6)) + 1), &all));
    for (const std::string &text : all)
      every = std::max<int64_t>(every, std::atoll(text.c_str()));
  }
  next = state.step + (isFirst ? kFirstSteps : every);
  return Status();
}

Status Keeping::keepLast(const TrainingState &state) {
  return kept && kept->step() != state.step ? kept->keep(session, state)
                                            : Status();
}

/// Who reads which examples decides what a number of steps has seen.
static Status checkSameShards(const TrainingState &read,
                              const TrainingState &here,
                              const std::string &from) {
  auto differs = [&](const std::string &why, const std::string &todo) {
    return Status::error(StatusCode::InvalidInput, "cannot resume", from, why,
                         todo);
  };
  if (read.shardPolicy != here.shardPolicy)
    return differs("it was saved under --shard-policy " + read.shardPolicy +
                       ", this run is under " + here.shardPolicy +
                       ": its position in the data means other examples",
                   "give --shard-policy " + read.shardPolicy +
                       ", or another folder");
  if (read.workerExamples.size() != here.workerExamples.size())
    return differs("under --shard-policy " + read.shardPolicy +
                       " it was saved by " +
                       std::to_string(read.workerExamples.size()) +
                       " workers, now there are " +
                       std::to_string(here.workerExamples.size()),
                   "give as many workers, or another folder");
  for (size_t w = 0; w < read.workerExamples.size(); ++w)
    if (read.workerExamples[w] != here.workerExamples[w])
      return differs("the examples of worker " + std::to_string(w) + " were " +
                         std::to_string(read.workerExamples[w]) +
                         ", now they are " +
                         std::to_string(here.workerExamples[w]),
                     "use the same files, or another folder");
  return Status();
}

Status findLastStep(const FitOptions &options, int64_t stepsPerEpoch,
                    int64_t *out) {
  const bool isTooMany = __builtin_mul_overflow(
      std::max<int64_t>(options.epochs, 1), stepsPerEpoch, out);
  if (isTooMany && options.steps == 0)
    return Status::error(StatusCode::InvalidArgument, "too many epochs",
                         "--epochs", "", "give fewer");
  if (options.steps > 0 &&
      (isTooMany || options.epochs == 0 || options.steps < *out))
    *out = options.steps;
  return Status();
}

void describeData(const Dataset &data, const BatchPlan &plan,
                  const FitOptions &options, TrainingState *state) {
  state->batch = plan.batch;
  state->examples = data.examples();
  state->shardPolicy = nameOf(options.shardPolicy);
  for (const DataShard &shard : plan.shards)
    state->workerExamples.push_back(shard.examples);
  if (!plan.shards.empty())
    state->examples = std::accumulate(state->workerExamples.begin(),
                                      state->workerExamples.end(), int64_t(0));
  state->shuffled = options.shuffle.has_value();
  state->seed = options.shuffle.value_or(0);
  state->dropRemainder = options.dropRemainder;
}

Status checkSameData(const TrainingState &read, const TrainingState &here,
                     const std::string &from) {
  // The position in the data is only the same with the same order of them.
  auto differs = [&](const char *what, int64_t there, int64_t here) {
    return Status::error(StatusCode::InvalidInput, "cannot resume", from,
                         std::string(what) + " was " + std::to_string(there) +
                             ", now it is " + std::to_string(here),
                         "use the same data and options, or another folder");
  };
  if (read.batch != here.batch)
    return differs("the batch size", read.batch, here.batch);
  DIST_RETURN_IF_ERROR(checkSameShards(read, here, from));
  if (read.examples != here.examples)
    return differs("the number of examples", read.examples, here.examples);
  if (read.shuffled != here.shuffled)
    return differs("shuffling", read.shuffled, here.shuffled);
  if (read.seed != here.seed)
    return differs("the shuffle's seed", int64_t(read.seed),
                   int64_t(here.seed));
  if (read.dropRemainder != here.dropRemainder)
    return differs("--drop-remainder", read.dropRemainder, here.dropRemainder);
  if (read.stepsPerEpoch != here.stepsPerEpoch)
    return differs("the steps of an epoch", read.stepsPerEpoch,
                   here.stepsPerEpoch);
  return Status();
}

} // namespace dist
