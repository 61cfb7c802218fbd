//===- closure_runner.cpp - Training steps as closures --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/closure_runner.h"

namespace dist::ps {

Status ClosureRunner::begin(int64_t first, int64_t count) {
  DIST_RETURN_IF_ERROR(session.beginClosures());
  coordinator.begin(first);
  for (int64_t i = 0; i < count; ++i)
    coordinator.schedule(first + i);
  return Status();
}

Status ClosureRunner::next(std::optional<StepDone> *out) {
  out->reset();
  std::optional<Completion> completion;
  DIST_RETURN_IF_ERROR(
      coordinator.next(Mail::Clock::now() + kLook, &completion));
  if (!completion)
    return Status();
  const ReportBody &report = completion->report;
  StepDone &done = out->emplace();
  done.batch = completion->closure;
  done.examples = report.examples;
  done.result.hasLoss = true;
  done.result.loss = report.loss;
  done.result.finite = report.isFinite;
  done.result.hasLearningRate = report.hasLearningRate;
  done.result.learningRate = report.learningRate;
  return session.addMetrics(completion->metrics);
}

} // namespace dist::ps
