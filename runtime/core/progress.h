//===- progress.h - What a rank shows of being alive ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Deadlines of collectives are about ranks that hang, not about ranks that
// compute for long: a rank that waits asks here whether the other one still
// moves. What it waits for others is counted, too: who waits least of all in a
// step is who the others wait for.
//
// Between two calls a process writes files, say: for that it moves nothing that
// could be counted, and no CPU time either. It says that it does, and is alive
// as long as it answers.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_PROGRESS_H
#define RUNTIME_CORE_PROGRESS_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <pthread.h>

namespace dist {

/// Written by one rank's threads, read by all.
class alignas(64) Progress {
public:
  /// On the thread that works for the rank: until `end` its CPU time counts,
  /// so that one long kernel is progress, too.
  void begin() {
    clockid_t clock;
    if (pthread_getcpuclockid(pthread_self(), &clock) == 0)
      thread.store(clock);
    advance();
  }
  void end() {
    advance();
    thread.store(noThread);
  }
  /// A kernel, a collective, an entry was begun or ended.
  void advance() { count.fetch_add(1, std::memory_order_relaxed); }

  /// Who is at work of its own has moved each time that one looks.
  uint64_t steps() const {
    return count.fetch_add(isAtWork(), std::memory_order_relaxed) + isAtWork();
  }
  /// Nanoseconds of CPU time of the rank's thread; 0 if none works for it.
  int64_t cpuTime() const {
    clockid_t clock = thread.load();
    timespec time;
    if (clock == noThread || clock_gettime(clock, &time) != 0)
      return 0;
    return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
  }

  /// The rank's process is at work of its own between two calls, as on files,
  /// until as many have said that it is no more.
  void setAtWork(bool begins) { works.fetch_add(begins ? 1 : -1); }
  /// And does not wait for others itself.
  bool isAtWork() const {
    return works.load(std::memory_order_relaxed) > 0 &&
           waits.load(std::memory_order_relaxed) == 0;
  }

  /// The rank's own thread is at the collective of an op, for as long as this
  /// lives.
  class Waiting {
  public:
    explicit Waiting(Progress &progress)
        : progress(progress), begin(std::chrono::steady_clock::now()) {
      progress.addWaits(1);
    }
    Waiting(Progress &progress, int32_t op) : Waiting(progress) {
      progress.lastOp.store(op, std::memory_order_relaxed);
    }
    ~Waiting() {
      std::chrono::nanoseconds time = std::chrono::steady_clock::now() - begin;
      progress.waited.fetch_add(time.count(), std::memory_order_relaxed);
      progress.addWaits(-1);
    }
    Waiting(const Waiting &) = delete;
    Waiting &operator=(const Waiting &) = delete;

  private:
    Progress &progress;
    const std::chrono::steady_clock::time_point begin;
  };
  /// Nanoseconds that the rank's own thread has spent in collectives.
  int64_t waitTime() const { return waited.load(std::memory_order_relaxed); }
  /// Of the collective that it began last; `noOp`: of none yet.
  static constexpr int32_t noOp = INT32_MIN;
  int32_t op() const { return lastOp.load(std::memory_order_relaxed); }

private:
  // The clocks of threads are negative numbers.
  static constexpr clockid_t noThread = CLOCK_REALTIME;
  /// Of the rank's own thread alone.
  void addWaits(int more) {
    waits.store(waits.load(std::memory_order_relaxed) + more,
                std::memory_order_relaxed);
  }

  mutable std::atomic<uint64_t> count{0};
  std::atomic<clockid_t> thread{noThread};
  std::atomic<int64_t> waited{0};
  std::atomic<int32_t> lastOp{noOp};
  std::atomic<int> works{0}, waits{0};
};

} // namespace dist

#endif // RUNTIME_CORE_PROGRESS_H
