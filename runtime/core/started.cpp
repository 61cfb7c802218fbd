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
  for (auto &line : lines)
    line->toDo.notify();
  for (auto &line : lines)
    line->thread.join();
}

StartedCollectives::Line *
StartedCollectives::find(const CollectivePlan &plan) const {
  CollectivePlan::Line key = plan.line();
  for (const auto &line : lines)
    if (line->key == key)
      return line.get();
  return nullptr;
}

Status StartedCollectives::open(const CollectivePlan &plan, Line **out) {
  *out = find(plan);
  if (*out)
    return Status();
  return withoutThrowing([&] {
    auto line = std::make_unique<Line>();
    line->key = plan.line();
    lines.reserve(lines.size() + 1);
    Line *made = line.get();
    line->thread = std::thread([this, made] { loop(*made); });
    lines.push_back(std::move(line));
    *out = made;
    return Status();
  });
}

Status StartedCollectives::start(Communicator &communicator,
                                 CollectivePlan &plan, void *const *from,
                                 void *const *to, uint64_t *number) {
  // All that may fail comes before the job is there to be waited for.
  Line *line = nullptr;
  DIST_RETURN_IF_ERROR(open(plan, &line));
  if (line->started - line->finished.load() == maxJobs)
    line->waitFor(line->started - maxJobs + 1); // its wait reports the failure
  Job &job = line->jobs[line->started % maxJobs];
  job.communicator = &communicator;
  job.plan = &plan;
  plan.call.background = true;
  job.buffers = &plan.keep(from, to);
  *number = line->started + 1;
  line->queued.store(++line->started);
  line->toDo.notify();
  return Status();
}

void StartedCollectives::loop(Line &line) {
  for (uint64_t next = 0;; ++next) {
    // Asleep: the cores belong to the devices.
    line.toDo.wait([&] { return line.queued.load() > next || stopping.load(); },
                   never, 0);
    if (line.queued.load() <= next)
      return;
    Job &job = line.jobs[next % maxJobs];
    Clock::time_point begin = Clock::now();
    Status status = withoutThrowing([&] {
      Status result = job.communicator->run(*job.plan, job.buffers->from.data(),
                                            job.buffers->to.data());
      if (observer)
        observer(job.plan->call.op, begin, Clock::now());
      return result;
    });
    if (!status.ok()) {
      std::lock_guard<std::mutex> lock(failureMutex);
      if (!failed.load())
        failure = std::move(status);
      failed.store(true);
    }
    line.finished.store(next + 1);
    line.done.notify();
  }
}

void StartedCollectives::Line::waitFor(uint64_t number) {
  done.wait([&] { return finished.load() >= number; }, never, 0);
}

Status StartedCollectives::failureSoFar() {
  if (!failed.load())
    return Status();
  std::lock_guard<std::mutex> lock(failureMutex);
  return failure;
}

Status StartedCollectives::wait(const CollectivePlan &plan, uint64_t number) {
  if (Line *line = find(plan))
    line->waitFor(number);
  return failureSoFar();
}

Status StartedCollectives::waitForLine(const CollectivePlan &plan) {
  if (Line *line = find(plan))
    line->waitFor(line->started);
  return failureSoFar();
}

Status StartedCollectives::waitForAll() {
  for (auto &line : lines)
    line->waitFor(line->started);
  Status status = failureSoFar();
  failed.store(false);
  return status;
}

bool StartedCollectives::isIdle(const CollectivePlan &plan) const {
  const Line *line = find(plan);
  return !line || line->isIdle();
}

} // namespace dist
