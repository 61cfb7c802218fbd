//===- patience.h - How long a rank waits for others ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A deadline runs as waits.h says. Which rank waits for which is known of those
// that have waited for more than a moment; so the fast path costs nothing.
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
    bool gave = false;
    // Awake in short pieces: one that has no CPU does not come for that.
    while (shared.options.giveCpu && spinMicroseconds > 0 && !gave) {
      watchLate();
      if (point.spin(ready, pieceMicroseconds))
        return true;
      spinMicroseconds -= pieceMicroseconds;
      gave = giveCpu();
    }
    while (true) {
      Clock::time_point until = Clock::now() + slice;
      if (point.waitUntil(ready, until, gave ? 0 : spinMicroseconds)) {
        if (gave)
          shared.options.sit(mine.rank);
        return true;
      }
      spinMicroseconds = 0;
      if (!look())
        return false;
    }
  }
  /// After the deadline: waits as long again.
  void restart() { left = timeout; }
  /// After the deadline: names who truly hangs, and the op that waits for it.
  /// Makes every rank give up.
  Status timedOut();

private:
  static constexpr int pieceMicroseconds = 60;
  /// Looks at one that is waited for.
  void watchLate();
  /// Whether it has had no CPU since, and got this one.
  bool giveCpu();
  /// Between two slices; false: the deadline has passed.
  bool look();
  /// Under the lock: what to say of those that are waited for, once, when half
  /// of the time is over; else empty.
  std::string makeWarning();
  /// Under the lock: all that this wait depends on.
  Dependence dependence() const;
  bool sawProgress(Clock::duration elapsed);

  Shared &shared;
  Waiting mine;
  bool known = false; // to the others
  bool warned = false;
  Clock::duration slice, timeout, left;
  Clock::time_point last;
  LifeWatch watch;
  int late = -1; // who was looked at last, its CPU time, and when
  int64_t lateCpuTime = 0;
  Clock::time_point lateSeen;
};

} // namespace dist::local

#endif // RUNTIME_COMM_LOCAL_PATIENCE_H
