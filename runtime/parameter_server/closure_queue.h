//===- closure_queue.h - Closures of an app ---------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tf.distribute.coordinator.ClusterCoordinator is to its program: closures
// are scheduled without waiting for them, and each gives a value that can be
// waited for. A thread of its own hands them out and hears of their ends.
//
// Errors are as there: the first closure that fails takes with it those that no
// worker has begun, at once; when those under way have ended, the next call of
// `schedule`, `join` or `isDone` tells the error, once, and the queue can be
// used again. Until then `schedule` and `join` wait for it. What ends the run,
// as a lost server, every call tells.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_PARAMETER_SERVER_CLOSURE_QUEUE_H
#define RUNTIME_PARAMETER_SERVER_CLOSURE_QUEUE_H

#include "runtime/parameter_server/coordinator.h"
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace dist::ps {

/// What a closure will have given. It may outlive its queue. Any thread.
class RemoteValue {
public:
  explicit RemoteValue(bool isStep) : isStep(isStep) {}
  /// Waits for the closure. Errors: its own; it was cancelled, as an earlier
  /// one failed or the queue was closed; what ended the run.
  /// `out` gets what lives as long as the value.
  Status fetch(const Completion **out);
  const bool isStep;

private:
  friend class ClosureQueue;
  void settle(Status status, Completion completion = {});

  std::mutex mutex;
  std::condition_variable changed;
  bool isSettled = false;
  Status status;
  Completion completion;
};

/// Any thread may use it.
class ClosureQueue : public ServerStates {
public:
  struct Options {
    /// Closures that are not done: so many, and `schedule` waits.
    size_t limit = 256 * 1024;
    /// Before the first closure since all were done, by who schedules it.
    std::function<Status()> prepare;
    /// Behind that: from then on no closure has a lower number, as those before
    /// may be of a run whose state was loaded.
    std::function<Status(int64_t *)> first;
  };
  /// From now on the coordinator is the queue's thread's.
  ClosureQueue(Coordinator &coordinator, Options options);
  /// Cancels what is not done; workers may still be in it.
  ~ClosureQueue() override;

  /// `out` may be null. Waits where the queue is full, and where an error is to
  /// be told first, for nothing else.
  /// `isStep`: it trains, see `takeSteps`.
  Status schedule(Buffer work, bool isStep, std::shared_ptr<RemoteValue> *out);
  /// Waits until all that was scheduled is done.
  Status join();
  /// Whether all that was scheduled is done.
  Status isDone(bool *out);
  /// What has ended the run; success while it goes on.
  Status over();
  /// The steps done since the last call, in the order of their ends.
  std::vector<Completion> takeSteps();

  /// Not while closures are under way.
  Status readState(int server, Buffer *out) override;
  Status writeState(int server, Buffer state) override;

private:
  struct Question {
    std::function<Status()> ask;
    Status status;
    bool isAnswered = false;
  };
  /// Closures that are not done, by number.
  using Pending = std::map<int64_t, std::shared_ptr<RemoteValue>>;

  void run();
  /// A turn without a closure, and with some; without the lock while they wait.
  void idle(std::unique_lock<std::mutex> &lock);
  void advance(std::unique_lock<std::mutex> &lock);
  void answer(std::unique_lock<std::mutex> &lock);
  /// `closure`: whose error it is; -1: the run's.
  void fail(const Status &why, int64_t closure);
  /// Of an error that is told when those under way have ended: ends the others.
  void hearFailure();
  /// Nothing is under way, nor is an error that is to come.
  bool isIdle() const { return pending.empty() && !isFailing; }
  /// The error to be told, which is not told again if it is a closure's.
  Status takeError();
  Status onThread(std::function<Status()> ask);
  /// Before the first closure since all were done.
  Status prepare();

  Coordinator &coordinator;
  const Options options;
  std::mutex scheduling; // held by who is in `schedule`
  std::mutex mutex;
  std::condition_variable changed; // for callers
  std::condition_variable wanted;  // for the thread
  std::deque<std::pair<int64_t, Buffer>> incoming;
  Pending pending;
  std::vector<Completion> steps;
  Question *question = nullptr;
  int64_t next = 0;
  bool isFailing = false; // one has failed, and others are under way
  Status failure;         // of a closure, to be told
  Status fatal;           // of the run
  bool isEnding = false;
  std::thread thread;
};

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_CLOSURE_QUEUE_H
