//===- time_collectives.h - How long a world's collectives take -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_TRAIN_TIME_COLLECTIVES_H
#define RUNTIME_TRAIN_TIME_COLLECTIVES_H

#include "runtime/comm/schedule/times.h"
#include <functional>

namespace dist {

struct TimingOptions {
  /// Of the world. Groups are those over its last axes: 2, 4 and 8 ranks of
  /// 2x2x2.
  std::vector<int64_t> mesh;
  /// For all together, about.
  double seconds = 5;
  /// What is between the first so many ranks.
  std::function<LinkClass(int64_t ranks)> link;
};

/// A mesh of so many ranks with as many axes as can be.
std::vector<int64_t> primeMesh(int64_t ranks);

/// All ranks of the world call it, each with its own communicator. The first
/// group of a size is timed while the others wait; rank 0 has the rows: the
/// medians of its times.
Status timeCollectives(Communicator &own, const TimingOptions &options,
                       CollectiveTimes *out);

/// The same of devices of one process.
Status timeLocalCollectives(int64_t ranks, double seconds,
                            CollectiveTimes *out);

} // namespace dist

#endif // RUNTIME_TRAIN_TIME_COLLECTIVES_H
