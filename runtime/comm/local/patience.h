//===- patience.h - How long a rank waits for others ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A deadline runs only while those that are waited for show no progress, nor
// those that they wait for in turn: a stage of a pipeline must not be blamed
// for the one before it. Which rank waits for which is known of those that have
// waited for more than a moment; so the fast path costs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_LOCAL_PATIENCE_H
#define RUNTIME_COMM_LOCAL_PATIENCE_H

#include "runtime/comm/local/group.h"

namespace dist::local {

class Patience {
public:
  using Clock = WaitPoint::Clock;

  /// For those of the group that have not come to its phase.
  Patience(Shared &shared, const Membership &membership, const Call &call);
  /// For a message.
  Patience(Shared &shared, int receiver, int sender, int64_t tag,
           const Call &call, bool background);
  ~Patience();
  Patience(const Patience &) = delete;
  Patience &operator=(const Patience &) = delete;

  /// True when `ready()` became true; false when the deadline has passed.
  template <typename Ready>
  bool wait(WaitPoint &point, Ready ready, int spinMicroseconds) {
    while (true) {
      Clock::time_point planned = Clock::now() + slice, until = planned;
      if (point.waitUntil(ready, until, spinMicroseconds))
        return true;
      spinMicroseconds = 0;
      if (!look(until - planned))
        return false;
    }
  }
  /// After the deadline: waits as long again.
  void restart() { left = timeout; }
  /// After the deadline: names who truly hangs, and the op that waits for it.
  /// Makes every rank give up.
  Status timedOut();

private:
  /// What a rank had shown when it was looked at last.
  struct Seen {
    uint64_t steps = 0;
    int64_t cpuTime = 0;
  };

  /// Between two slices; false: the deadline has passed. `suspended`: how long
  /// the whole process was.
  bool look(Clock::duration suspended);
  /// Under the lock: what to say of those that are waited for, once, when half
  /// of the time is over; else empty.
  std::string makeWarning();
  /// All that this wait depends on: waits, and ranks that are in none.
  void follow(std::vector<const Waiting *> *waits, std::vector<int> *free);
  bool sawProgress(Clock::duration elapsed);

  Shared &shared;
  Waiting mine;
  bool known = false; // to the others
  bool warned = false;
  Clock::duration slice, timeout, left;
  Clock::time_point last;
  std::vector<Seen> seen; // by rank
};

} // namespace dist::local

#endif // RUNTIME_COMM_LOCAL_PATIENCE_H
