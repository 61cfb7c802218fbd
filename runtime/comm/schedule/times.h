//===- times.h - How long collectives take, measured ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table that `dist-run bench --collectives` measures and writes, and that
// the compiler predicts and chooses by.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_SCHEDULE_TIMES_H
#define RUNTIME_COMM_SCHEDULE_TIMES_H

#include "runtime/core/communicator.h"
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace dist {

/// What is between ranks: the memory of one process, that of one machine, or a
/// network.
enum class LinkClass { Memory, Process, Network };

/// memory, process, network
const char *name(LinkClass link);

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

/// Whether the table has rows of the kind: the others are transfers between
/// two, or with a host.
bool isTimed(CollectiveKind kind);

/// What is asked of a table.
struct TimedCall {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Algorithm algorithm = Algorithm::Auto;
  LinkClass link = LinkClass::Memory;
  int64_t ranks = 2, bytes = 0;
};

/// The rows, by what is asked for.
class CollectiveTable {
public:
  /// A file of writeCollectiveTimes.
  static Status read(const std::string &path, CollectiveTable *out);

  void add(const CollectiveTime &row);

  /// Between the sizes and numbers of ranks that were measured, along straight
  /// lines; below the smallest size as that one, above the largest at its rate.
  /// Nothing where the number of ranks is not between measured ones.
  std::optional<double> find(const TimedCall &call) const;

  /// The algorithm with the least time of those that sum in the order of ranks,
  /// and so have one another's bits. Where an algorithm was measured for fewer
  /// bytes than others, it is one for those alone. Auto: no row says.
  Algorithm chooseAllReduce(const TimedCall &call) const;

  /// Which rows of the kind there are instead.
  std::string describeMissing(const TimedCall &call) const;

private:
  using Key = std::tuple<CollectiveKind, Algorithm, LinkClass>;
  using BySize = std::map<int64_t, double>;
  using ByRanks = std::map<int64_t, BySize>;

  std::map<Key, ByRanks> rows;
};

Status writeCollectiveTimes(const std::string &path,
                            const CollectiveTimes &times);

} // namespace dist

#endif // RUNTIME_COMM_SCHEDULE_TIMES_H
