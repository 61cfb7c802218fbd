//===- times.h - How long collectives take, measured ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table that `dist-run bench --collectives` measures.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_SCHEDULE_TIMES_H
#define RUNTIME_COMM_SCHEDULE_TIMES_H

#include "runtime/core/communicator.h"
#include <vector>

namespace dist {

/// What is between ranks: the memory of one process, that of one machine, or a
/// network.
enum class LinkClass { Memory, Process, Network };

struct CollectiveTime {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Algorithm algorithm = Algorithm::Auto;
  LinkClass link = LinkClass::Memory;
  int64_t ranks = 2;
  /// Of one rank's operands.
  int64_t bytes = 0;
  double seconds = 0;
};

using CollectiveTimes = std::vector<CollectiveTime>;

} // namespace dist

#endif // RUNTIME_COMM_SCHEDULE_TIMES_H
