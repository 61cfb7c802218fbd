//===- started.h - Collectives that run beside a rank's own work *- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank's started collectives, in order, on a thread of their own, which comes
// to be with the first one. All ranks of a group must make their calls in one
// order, so a call that is not started first waits for all that are.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_STARTED_H
#define RUNTIME_CORE_STARTED_H

#include "runtime/core/communicator.h"
#include "runtime/core/wait.h"
#include <functional>
#include <thread>
#include <vector>

namespace dist {

class StartedCollectives {
public:
  StartedCollectives() = default;
  ~StartedCollectives();
  StartedCollectives(const StartedCollectives &) = delete;
  StartedCollectives &operator=(const StartedCollectives &) = delete;

  /// Sees each collective that ran on the thread, for traces; set before the
  /// first start.
  using Observer =
      std::function<void(int32_t op, WaitPoint::Clock::time_point begin,
                         WaitPoint::Clock::time_point end)>;
  void observe(Observer newObserver) { observer = std::move(newObserver); }

  /// Returns at once; an error if there is no thread to be had. The plan stays
  /// as it is until the wait; the addresses are copied. `number`: the how
  /// manyeth this one is, from 1.
  Status start(Communicator &communicator, CollectivePlan &plan,
               void *const *from, void *const *to, uint64_t *number);
  /// Waits for the collective of that number; its failure, or that of one
  /// before it.
  Status wait(uint64_t number);
  /// Waits for all: the first failure, also of what nothing waited for, which
  /// is forgotten then.
  Status waitForAll();
  bool idle() const { return finished.load() == started; }

private:
  struct Job {
    Communicator *communicator = nullptr;
    CollectivePlan *plan = nullptr;
    std::vector<void *> from, to;
  };
  /// Jobs in flight at once; a start beyond them waits for the oldest.
  static constexpr uint64_t maxJobs = 64;

  void loop();

  Job jobs[maxJobs]; // job n is at n % maxJobs
  uint64_t started = 0;
  std::atomic<uint64_t> queued{0}, finished{0};
  std::atomic<bool> stopping{false};
  WaitPoint toDo, done;
  Observer observer;
  /// The first failure, written before its job is finished.
  std::atomic<bool> failed{false};
  Status failure;
  std::thread thread;
};

} // namespace dist

#endif // RUNTIME_CORE_STARTED_H
