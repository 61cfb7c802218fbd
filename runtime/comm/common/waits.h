//===- waits.h - Which rank waits for which ---------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A deadline runs only while those that are waited for show no progress, nor
// those that they wait for in turn: a stage of a pipeline must not be blamed
// for the one before it.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_COMMON_WAITS_H
#define RUNTIME_COMM_COMMON_WAITS_H

#include "runtime/comm/common/options.h"
#include <chrono>

namespace dist {

/// A rank that has waited for more than a moment, and for whom.
struct Wait {
  int rank = 0;
  /// On the thread of started collectives: the rank's own may compute.
  bool background = false;
  CollectiveKind kind = CollectiveKind::Barrier;
  int32_t op = 0;
  /// For a message of this tag, or for who takes the one before, rather than
  /// for those of a group.
  bool forMessage = false;
  int64_t tag = 0;
  std::vector<int> missing;
};

/// What one wait depends on.
struct Dependence {
  std::vector<Wait> waits; // itself first
  std::vector<int> free;   // missing, and waiting for none
  /// The deadline counts from where the first wait began, whatever the others
  /// do; else from the last progress of those that are waited for.
  bool countsFromBegin = false;
};
Dependence follow(const Wait &first, const std::vector<Wait> &all, int ranks);

/// Who truly hangs, and the wait that is for it.
struct Blame {
  int rank = 0;
  CollectiveKind kind = CollectiveKind::Barrier;
  int32_t op = 0;
  std::string why;
};
Blame blame(const WorldOptions &options, const Dependence &dependence);

/// What to say of a wait that lasts.
std::string warnOf(const WorldOptions &options, const Wait &wait,
                   std::chrono::steady_clock::duration since);
/// And of one that lasts for as long as the others are at work of their own:
/// no deadline ends it.
std::string warnOfWork(const WorldOptions &options, const Wait &wait,
                       std::chrono::steady_clock::duration since);

/// What a rank shows of being alive; nanoseconds of CPU time.
struct LifeSign {
  uint64_t steps = 0;
  int64_t cpuTime = 0;
  bool isAtWork = false; // between two calls (see Progress::setAtWork)
};

/// Compares life signs with those of the look before.
class LifeWatch {
public:
  using Clock = std::chrono::steady_clock;

  bool started() const { return !seen.empty(); }
  /// Whether any of those depended on moved in `elapsed`. `signs`: by rank.
  bool sawProgress(const Dependence &dependence, Clock::duration elapsed,
                   const std::vector<LifeSign> &signs);
  /// How long those that are missing have been at work of their own by now.
  Clock::duration workTime() const { return worked; }

private:
  std::vector<LifeSign> seen; // by rank
  Clock::duration worked{0};
};

/// What counts of the time between two looks at the others that were to be
/// `slice` apart. Who looks late had no CPU, or was suspended: so may they have
/// been, and nothing could have come.
std::chrono::steady_clock::duration
countedTime(std::chrono::steady_clock::duration between,
            std::chrono::steady_clock::duration slice);

/// What a clock of nanoseconds can count, with room for the time of day.
std::chrono::steady_clock::duration toDuration(double seconds);

} // namespace dist

#endif // RUNTIME_COMM_COMMON_WAITS_H
