//===- bench.h - Timing steps -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_BENCH_H
#define RUNTIME_TRAIN_BENCH_H

#include "runtime/core/session.h"
#include <functional>

namespace dist {

struct BenchOptions {
  double seconds = 5;
  bool train = true; // else predict
  uint64_t seed = 0;
  /// Called after each step that was timed, in no step's time.
  std::function<void()> afterStep;
};

struct BenchResult {
  int64_t steps = 0, examplesPerStep = 0;
  double firstSeconds = 0; // the first step, which makes kernels and packs
  double medianMs = 0, bestMs = 0;
  double meanMs = 0; // with those steps that stalled, unlike the median
  double examplesPerSecond = 0; // by the median
};

/// Repeats one entry on random data after a warm-up. A train step is one batch
/// with its update, its loss read by the host each step.
Status bench(Session &session, const BenchOptions &options, BenchResult *out);

} // namespace dist

#endif // RUNTIME_TRAIN_BENCH_H
