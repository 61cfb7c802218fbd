//===- closure_queue.cpp - Closures of an app -----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/closure_queue.h"
#include "runtime/core/guard.h"

namespace dist::ps {

/// How long the thread waits for letters before it looks at what was scheduled:
/// a worker that is free gets a new closure so late at most.
static constexpr std::chrono::milliseconds kTurn{2};

//===----------------------------------------------------------------------===//
// RemoteValue
//===----------------------------------------------------------------------===//

Status RemoteValue::fetch(const Completion **out) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [this] { return isSettled; });
  if (status.ok())
    *out = &completion;
  return status;
}

void RemoteValue::settle(Status ended, Completion done) {
  std::lock_guard<std::mutex> lock(mutex);
  status = std::move(ended);
  completion = std::move(done);
  isSettled = true;
  changed.notify_all();
}

//===----------------------------------------------------------------------===//
// What callers do
//===----------------------------------------------------------------------===//

ClosureQueue::ClosureQueue(Coordinator &coordinator, Options given)
    : coordinator(coordinator), options(std::move(given)) {
  coordinator.begin(next);
  thread = std::thread([this] { run(); });
}

ClosureQueue::~ClosureQueue() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnding = true;
    wanted.notify_all();
  }
  thread.join();
  for (auto &[number, value] : pending)
    value->settle(Status::error(
        StatusCode::Cancelled, "a closure is cancelled", std::to_string(number),
        "its cluster was closed before it was done", "join before"));
}

Status ClosureQueue::takeError() {
  return fatal.ok() ? std::exchange(failure, Status()) : fatal;
}

Status ClosureQueue::prepare() {
  if (options.prepare)
    DIST_RETURN_IF_ERROR(options.prepare());
  int64_t first = 0;
  if (options.first)
    DIST_RETURN_IF_ERROR(options.first(&first));
  if (first <= next) // nobody else changes it
    return Status();
  DIST_RETURN_IF_ERROR(onThread([this, first] {
    coordinator.begin(first);
    return Status();
  }));
  std::lock_guard<std::mutex> lock(mutex);
  next = first;
  return Status();
}

Status ClosureQueue::schedule(Buffer work, bool isStep,
                              std::shared_ptr<RemoteValue> *out) {
  // One by one, so that what the first one prepares is ready for the others.
  std::lock_guard<std::mutex> one(scheduling);
  auto value = std::make_shared<RemoteValue>(isStep);
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [this] {
    return (pending.size() < options.limit && !isFailing) || !failure.ok() ||
           !fatal.ok();
  });
  DIST_RETURN_IF_ERROR(takeError());
  if (isIdle()) {
    lock.unlock();
    DIST_RETURN_IF_ERROR(prepare());
    lock.lock();
    DIST_RETURN_IF_ERROR(takeError());
  }
  incoming.emplace_back(next, std::move(work));
  pending[next++] = value;
  wanted.notify_all();
  if (out)
    *out = std::move(value);
  return Status();
}

Status ClosureQueue::join() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [this] { return isIdle() || !fatal.ok(); });
  return takeError();
}

Status ClosureQueue::isDone(bool *out) {
  std::lock_guard<std::mutex> lock(mutex);
  *out = isIdle();
  return takeError();
}

Status ClosureQueue::over() {
  std::lock_guard<std::mutex> lock(mutex);
  return fatal;
}

std::vector<Completion> ClosureQueue::takeSteps() {
  std::lock_guard<std::mutex> lock(mutex);
  return std::exchange(steps, {});
}

Status ClosureQueue::onThread(std::function<Status()> ask) {
  Question mine{std::move(ask), Status(), false};
  std::unique_lock<std::mutex> lock(mutex);
  if (!isIdle())
    return Status::error(StatusCode::InvalidArgument, "closures are under way",
                         "", "they change what servers hold", "join before");
  changed.wait(lock, [this] { return !question; });
  question = &mine;
  wanted.notify_all();
  changed.wait(lock, [&] { return mine.isAnswered; });
  return mine.status;
}

Status ClosureQueue::readState(int server, Buffer *out) {
  return onThread([=] { return coordinator.readState(server, out); });
}

Status ClosureQueue::writeState(int server, Buffer state) {
  auto held = std::make_shared<Buffer>(std::move(state));
  return onThread([this, server, held] {
    return coordinator.writeState(server, std::move(*held));
  });
}

//===----------------------------------------------------------------------===//
// What the thread does
//===----------------------------------------------------------------------===//

static Status cancelledBy(const Status &why) {
  return Status::error(StatusCode::Cancelled, "a closure is cancelled", "",
                       "an earlier one failed: " + why.message(),
                       "schedule it again");
}

void ClosureQueue::hearFailure() {
  const int64_t failed = coordinator.failingClosure();
  if (isFailing || failed < 0)
    return;
  isFailing = true;
  const Status &why = coordinator.heardFailure();
  for (auto it = pending.begin(); it != pending.end();) {
    const bool isOwn = it->first == failed;
    if (!isOwn && coordinator.isBegun(it->first)) {
      ++it;
      continue;
    }
    it->second->settle(isOwn ? why : cancelledBy(why));
    it = pending.erase(it);
  }
  incoming.clear();
}

void ClosureQueue::fail(const Status &why, int64_t closure) {
  const bool isOver = closure < 0;
  isFailing = false;
  if (isOver)
    fatal = why;
  else
    failure = why;
  for (auto &[number, value] : pending)
    value->settle(isOver || number == closure ? why : cancelledBy(why));
  pending.clear();
  incoming.clear();
  // Whoever is late with one of them has nothing more to say.
  if (!isOver)
    coordinator.begin(next);
}

void ClosureQueue::answer(std::unique_lock<std::mutex> &lock) {
  Question *asked = question;
  Status status = fatal;
  if (status.ok()) {
    lock.unlock();
    status = withoutThrowing(asked->ask);
    lock.lock();
  }
  asked->status = status;
  asked->isAnswered = true;
  question = nullptr;
  changed.notify_all();
}

void ClosureQueue::idle(std::unique_lock<std::mutex> &lock) {
  auto isWanted = [this] { return isEnding || question || !incoming.empty(); };
  if (!fatal.ok()) {
    wanted.wait(lock, isWanted);
    return;
  }
  if (wanted.wait_for(lock, kLook, isWanted))
    return;
  lock.unlock();
  Status status =
      withoutThrowing([&] { return coordinator.listen(Mail::Clock::now()); });
  lock.lock();
  if (!status.ok()) {
    fail(status, -1);
    changed.notify_all();
  }
}

void ClosureQueue::advance(std::unique_lock<std::mutex> &lock) {
  for (auto &[number, work] : incoming)
    coordinator.schedule(number, std::move(work));
  incoming.clear();
  lock.unlock();
  std::optional<Completion> done;
  Status status = withoutThrowing(
      [&] { return coordinator.next(Mail::Clock::now() + kTurn, &done); });
  lock.lock();
  hearFailure();
  if (!status.ok()) {
    fail(status, coordinator.failedClosure());
  } else if (done) {
    auto found = pending.find(done->closure);
    if (found == pending.end())
      return;
    if (found->second->isStep)
      steps.push_back(*done);
    found->second->settle(Status(), std::move(*done));
    pending.erase(found);
  } else {
    return;
  }
  changed.notify_all();
}

void ClosureQueue::run() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!isEnding) {
    if (question)
      answer(lock);
    else if (isIdle())
      idle(lock);
    else
      advance(lock);
  }
}

} // namespace dist::ps
