//===- wait.h - Waiting for another thread, shortly awake -------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads of one step meet within microseconds, where sleeping and waking costs
// more than the wait: spin first, then sleep on a futex.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_WAIT_H
#define RUNTIME_CORE_WAIT_H

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dist {

/// Where threads wait for conditions on sequentially consistent atomics. Who
/// makes one true calls `notify` after it.
class WaitPoint {
public:
  using Clock = std::chrono::steady_clock;

  void notify() {
    // Sequential consistency orders this load behind the condition's store, and
    // the waiter's increment before its load of the condition.
    if (sleepers.load() == 0)
      return;
    epoch.fetch_add(1);
    syscall(SYS_futex, &epoch, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr,
            0);
  }

  /// Whether `ready()` becomes true within some microseconds, awake. No thread
  /// has to notify.
  template <typename Ready> bool spin(Ready ready, int microseconds) {
    Clock::time_point end =
        Clock::now() + std::chrono::microseconds(microseconds);
    do {
      for (int i = 0; i < 32; ++i) {
        if (ready())
          return true;
        pause();
      }
    } while (Clock::now() < end);
    return false;
  }

  /// True when `ready()` became true, false at the deadline. Spins for
  /// `spinMicroseconds` before it sleeps. While the process is suspended
  /// for over a second, the time that is left stands still: none can have
  /// come.
  template <typename Ready>
  bool wait(Ready ready, Clock::time_point deadline, int spinMicroseconds) {
    return waitUntil(ready, deadline, spinMicroseconds);
  }

  /// The same, and the deadline is moved by what the process was suspended: for
  /// those who wait for one of several things, and then for the others.
  template <typename Ready>
  bool waitUntil(Ready ready, Clock::time_point &deadline,
                 int spinMicroseconds) {
    if (ready())
      return true;
    Clock::time_point start = Clock::now();
    Clock::time_point awake =
        start + std::chrono::microseconds(spinMicroseconds);
    if (spin(ready, spinMicroseconds)) {
      postpone(deadline, Clock::now() - awake);
      return true;
    }
    sleepers.fetch_add(1);
    bool result = true;
    Clock::time_point last = start;
    Clock::duration planned = awake - start;
    while (true) {
      uint32_t seen = epoch.load();
      Clock::time_point now = Clock::now();
      postpone(deadline, now - last - planned);
      if (ready())
        break;
      if (now >= deadline) {
        result = false;
        break;
      }
      // Slices, so that a far deadline needs no arithmetic on its type.
      last = now;
      planned = std::min<Clock::duration>(deadline - now,
                                          std::chrono::milliseconds(200));
      timespec time;
      auto ns =
          std::chrono::duration_cast<std::chrono::nanoseconds>(planned).count();
      time.tv_sec = ns / 1000000000;
      time.tv_nsec = ns % 1000000000;
      syscall(SYS_futex, &epoch, FUTEX_WAIT_PRIVATE, seen, &time, nullptr, 0);
    }
    sleepers.fetch_sub(1);
    return result;
  }

private:
  /// Beyond what a busy machine adds to a sleep.
  static constexpr std::chrono::milliseconds suspended{1000};

  static void postpone(Clock::time_point &deadline, Clock::duration late) {
    if (late > suspended && deadline != Clock::time_point::max())
      deadline += late;
  }

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
  }

  std::atomic<uint32_t> epoch{0};
  std::atomic<uint32_t> sleepers{0};
  static_assert(sizeof(std::atomic<uint32_t>) == 4, "a futex is 32 bits");
};

} // namespace dist

#endif // RUNTIME_CORE_WAIT_H
