//===- started.cpp - Collectives that run beside a rank's own work --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/started.h"
#include "runtime/core/guard.h"

namespace dist {

namespace {
using Clock = WaitPoint::Clock;
// A communicator ends its calls by itself, at its deadline or when aborted.
constexpr auto never = Clock::time_point::max();
} // namespace

StartedCollectives::~StartedCollectives() {
  stopping.store(true);
  toDo.notify();
  if (thread.joinable())
    thread.join();
}

Status StartedCollectives::start(Communicator &communicator,
                                 CollectivePlan &plan, void *const *from,
                                 void *const *to, uint64_t *number) {
  // All that may fail comes before the job is there to be waited for.
  if (!thread.joinable())
    DIST_RETURN_IF_ERROR(withoutThrowing([&] {
      thread = std::thread([this] { loop(); });
      return Status();
    }));
  if (started - finished.load() == maxJobs)
    (void)wait(started - maxJobs + 1); // its wait reports the failure
  Job &job = jobs[started % maxJobs];
  job.communicator = &communicator;
  job.plan = &plan;
  plan.call.background = true;
  const Collective &call = plan.call;
  // Of a send and a recv one of the two is not there.
  job.from.assign(from, from + (call.gives ? call.pieces.size : 0));
  job.to.assign(to, to + (call.takes ? call.pieces.size : 0));
  *number = started + 1;
  queued.store(++started);
  toDo.notify();
  return Status();
}

void StartedCollectives::loop() {
  for (uint64_t next = 0;; ++next) {
    // Asleep: the cores belong to the devices.
    toDo.wait([&] { return queued.load() > next || stopping.load(); }, never,
              0);
    if (queued.load() <= next)
      return;
    Job &job = jobs[next % maxJobs];
    Clock::time_point begin = Clock::now();
    Status status = withoutThrowing([&] {
      Status result =
          job.communicator->run(*job.plan, job.from.data(), job.to.data());
      if (observer)
        observer(job.plan->call.op, begin, Clock::now());
      return result;
    });
    if (!status.ok() && !failed.load()) {
      failure = std::move(status);
      failed.store(true);
    }
    finished.store(next + 1);
    done.notify();
  }
}

Status StartedCollectives::wait(uint64_t number) {
  done.wait([&] { return finished.load() >= number; }, never, 0);
  return failed.load() ? failure : Status();
}

Status StartedCollectives::waitForAll() {
  Status status = wait(started);
  failed.store(false);
  return status;
}

} // namespace dist
