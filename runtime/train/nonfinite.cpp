//===- nonfinite.cpp - Where NaN and infinities come from -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/nonfinite.h"
#include "runtime/train/averaging.h"
#include "runtime/core/processes.h"
#include "runtime/formats/convert.h"
#include <algorithm>
#include <cmath>

namespace dist {

/// f16's: the program multiplies gradients by it, and leaves a step out where
/// they overflow.
static bool hasLossScale(const manifest::Manifest &manifest) {
  auto precision = manifest.options().find("precision");
  return precision != manifest.options().end() && precision->second == "f16";
}

OnNonfinite onNonfiniteOf(const manifest::Manifest &manifest) {
  auto found = manifest.options().find("on-nonfinite");
  if (found == manifest.options().end())
    return OnNonfinite::Stop;
  return found->second == "continue" ? OnNonfinite::Continue
         : found->second == "skip"   ? OnNonfinite::Skip
                                     : OnNonfinite::Stop;
}

bool canDoOnNonfinite(const manifest::Manifest &manifest, OnNonfinite wanted) {
  const OnNonfinite compiled = onNonfiniteOf(manifest);
  // With a loss scale steps do the same whatever was asked for.
  return wanted == compiled || hasLossScale(manifest) ||
         (wanted == OnNonfinite::Continue && compiled == OnNonfinite::Stop);
}

using Stop =
    std::function<Status(const std::string &why, const std::string &todo)>;

/// Of the batch as this process has read it; ok: all of it is finite.
static Status scanExamples(const Dataset &data, const Batch &batch,
                           const BatchPlan &plan, const Stop &stop) {
  for (size_t c = 0; c < data.columns().size(); ++c) {
    int64_t index = data.findNonfinite(c, batch.indices);
    if (index < 0)
      continue;
    int64_t position =
        std::find(batch.indices.begin(), batch.indices.end(), index) -
        batch.indices.begin();
    bool isSharded = !plan.shards.empty();
    int64_t perPass = BatchStream::batchesPerPass(data.examples(), plan);
    std::vector<int64_t> portions = BatchStream::portionsOf(
        data.examples(), plan, batch.number % std::max<int64_t>(perPass, 1));
    int64_t rank = isSharded ? plan.shards[plan.worker].firstReplica : 0;
    while (rank + 1 < plan.replicas && (position -= portions[rank]) >= 0)
      ++rank;
    return stop("tensor '" + data.columns()[c].name +
                    "' holds NaN or infinity "
                    "in example " +
                    std::to_string(index) +
                    (isSharded ? " of the files of worker " +
                                     std::to_string(plan.worker)
                               : "") +
                    " (rank " + std::to_string(rank) + ")",
                "clean the data");
  }
  return Status();
}

Status nonfinite(Session &session, const Dataset &data, const Batch &batch,
                 const StepResult &result, const BatchPlan &plan) {
  OwnWork work(session);
  std::string where = "step " + std::to_string(batch.number + 1);
  std::string what = std::isfinite(result.loss) ? "a gradient is not finite"
                                                : "the loss is not finite";
  Stop stop = [&](const std::string &why, const std::string &todo) {
    return Status::error(StatusCode::InvalidInput, what, where, why, todo);
  };
  // Each process has read the data for itself: what one of them finds is the
  // answer of all, before they read variables together.
  DIST_RETURN_IF_ERROR(share(session, scanExamples(data, batch, plan, stop)));
  const manifest::Manifest &manifest = session.manifest();
  Status found;
  for (int i = 0; i < manifest.variables_size(); ++i) {
    const manifest::Variable &variable = manifest.variables(i);
    if (!isFloat(variable.global_type().type()) ||
        variable.group() == "metric" || variable.group() == "accumulator")
      continue;
    Tensor value;
    DIST_RETURN_IF_ERROR(session.readVariable(i, &value));
    for (int64_t k = 0; found.ok() && k < elementCount(value.shape); ++k)
      if (!std::isfinite(elementAsDouble(value.type, value.data.data(), k)))
        found = stop("tensor '" + variable.name() +
                         "' holds NaN or infinity "
                         "after the update (all ranks)",
                     "lower the learning rate or give --clip-norm; "
                     "--on-nonfinite=continue goes on");
  }
  // Workers that train by themselves do not find the same.
  if (stepsPerSync(manifest) > 0)
    DIST_RETURN_IF_ERROR(share(session, found));
  DIST_RETURN_IF_ERROR(std::move(found));
  if (hasLossScale(manifest) && !std::isfinite(result.loss))
    return stop("data and variables are finite (all ranks), and what is "
                "computed of them in f16 may have at most 65504",
                "use --precision bf16, or scale the inputs");
  return stop("data and variables are finite (all ranks)",
              "lower the learning rate or give --clip-norm; "
              "--on-nonfinite=continue goes on");
}

NonfiniteSteps::NonfiniteSteps(Session &session, const Dataset &data,
                               OnNonfinite policy, FitObserver &observer)
    : session(session), data(data), policy(policy), observer(observer),
      hasLossScale(dist::hasLossScale(session.manifest())) {}

Status NonfiniteSteps::record(const Batch &batch, const StepResult &result,
                              const StepResult *applied,
                              const BatchPlan &plan) {
  for (const StepResult *part : {&result, applied})
    if (part && !part->finite && policy == OnNonfinite::Stop)
      return nonfinite(session, data, batch, *part, plan);
  if (!result.finite && policy == OnNonfinite::Skip)
    observer.note("step " + std::to_string(batch.number + 1) +
                  " is not finite: skipped");
  // A scale above 1 answers for gradients, which it multiplies: their steps are
  // left out without a word. It can be no reason for a loss, nor is a smaller
  // one left to try at 1.
  if (hasLossScale && (!result.finite || !std::isfinite(result.loss)))
    return explainOnce(batch, result, plan);
  return Status();
}

/// All processes have the same results, and come here together.
Status NonfiniteSteps::explainOnce(const Batch &batch, const StepResult &result,
                                   const BatchPlan &plan) {
  if (isExplained)
    return Status();
  isExplained = true;
  Status why = nonfinite(session, data, batch, result, plan);
  if (why.code() != StatusCode::InvalidInput)
    return why;
  observer.note("a step was skipped, as all of its kind are with f16: " +
                why.message());
  return Status();
}

} // namespace dist
