//===- started.h - Collectives that run beside a rank's own work *- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank's started collectives: those of a line (see CollectivePlan) in order,
// on a thread of their own, which comes to be with the first one. All ranks of
// a group must make their calls in one order, so a call that is not started
// first waits for those of its line that are. Lines do not wait for each other:
// ranks of one group may be late while those of another are there.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_STARTED_H
#define RUNTIME_CORE_STARTED_H

#include "runtime/core/communicator.h"
#include "runtime/core/wait.h"
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dist {

class StartedCollectives {
public:
  StartedCollectives() = default;
  ~StartedCollectives();
  StartedCollectives(const StartedCollectives &) = delete;
  StartedCollectives &operator=(const StartedCollectives &) = delete;

  /// Sees each collective that ran on a thread, for traces; set before the
  /// first start. Several threads call it.
  using Observer =
      std::function<void(int32_t op, WaitPoint::Clock::time_point begin,
                         WaitPoint::Clock::time_point end)>;
  void observe(Observer newObserver) { observer = std::move(newObserver); }

  /// Returns at once; an error if there is no thread to be had. The plan stays
  /// as it is until the wait; the addresses are copied. `number`: the how
  /// manyeth of its line this one is, from 1.
  Status start(Communicator &communicator, CollectivePlan &plan,
               void *const *from, void *const *to, uint64_t *number);
  /// Waits for the start of that number in the plan's line; the failure of any
  /// that has failed by then.
  Status wait(const CollectivePlan &plan, uint64_t number);
  /// Waits for those of the plan's line.
  Status waitForLine(const CollectivePlan &plan);
  /// Waits for all: the first failure, also of what nothing waited for, which
  /// is forgotten then.
  Status waitForAll();
  /// Whether nothing of the plan's line is under way.
  bool isIdle(const CollectivePlan &plan) const;

private:
  struct Job {
    Communicator *communicator = nullptr;
    CollectivePlan *plan = nullptr;
    const CollectivePlan::Addresses *buffers = nullptr;
  };
  /// Jobs of a line in flight at once; a start beyond them waits for the
  /// oldest.
  static constexpr uint64_t maxJobs = 64;

  struct Line {
    CollectivePlan::Line key{};
    Job jobs[maxJobs]; // job n is at n % maxJobs
    uint64_t started = 0;
    std::atomic<uint64_t> queued{0}, finished{0};
    WaitPoint toDo, done;
    std::thread thread;

    void waitFor(uint64_t number);
    bool isIdle() const { return finished.load() == started; }
  };

  Line *find(const CollectivePlan &plan) const;
  Status open(const CollectivePlan &plan, Line **out);
  void loop(Line &line);
  Status failureSoFar();

  std::vector<std::unique_ptr<Line>> lines;
  std::atomic<bool> stopping{false};
  Observer observer;
  /// The first failure, written before its job is finished.
  std::atomic<bool> failed{false};
  std::mutex failureMutex;
  Status failure;
};

} // namespace dist

#endif // RUNTIME_CORE_STARTED_H
