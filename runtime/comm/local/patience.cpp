//===- patience.cpp - How long a rank waits for others --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/patience.h"
#include <algorithm>

namespace dist::local {

namespace {
using Clock = Patience::Clock;
/// How often a waiting rank looks at the others.
constexpr std::chrono::milliseconds longestSlice{200};
} // namespace

Wait Waiting::report() const {
  Wait wait{rank, background, call.kind, call.op, group == nullptr, tag, {}};
  if (!group)
    wait.missing.push_back(sender);
  for (size_t i = 0; group && i < group->members.size(); ++i)
    if (group->slots[i].arrived.load() < phase)
      wait.missing.push_back(group->members[i]);
  return wait;
}

Patience::Patience(Shared &shared, const Membership &membership,
                   const Call &call)
    : Patience(shared, membership.rank(), -1, 0, call, membership.background) {
  mine.group = membership.group;
  mine.phase = membership.phase;
}

Patience::Patience(Shared &shared, int receiver, int sender, int64_t tag,
                   const Call &call, bool background)
    : shared(shared), timeout(toDuration(shared.options.timeout)),
      left(timeout) {
  mine.rank = receiver;
  mine.sender = sender;
  mine.tag = tag;
  mine.call = call;
  mine.background = background;
  slice = longestSlice;
  if (timeout.count() > 0)
    slice = std::min<Clock::duration>(slice, timeout / 4);
}

Patience::~Patience() {
  if (!known)
    return;
  std::lock_guard<std::mutex> lock(shared.waitingMutex);
  auto &all = shared.waiting;
  all.erase(std::find(all.begin(), all.end(), &mine));
}

void Patience::watchLate() {
  late = mine.group ? -1 : mine.sender;
  for (size_t i = 0; mine.group && i < mine.group->members.size(); ++i)
    if (mine.group->slots[i].arrived.load() < mine.phase)
      late = mine.group->members[i];
  if (late < 0)
    return;
  lateCpuTime = shared.progress[late]->cpuTime();
  lateSeen = Clock::now();
}

bool Patience::giveCpu() {
  if (late < 0)
    return false;
  auto had =
      std::chrono::nanoseconds(shared.progress[late]->cpuTime() - lateCpuTime);
  return had < (Clock::now() - lateSeen) / 4 &&
         shared.options.giveCpu(mine.rank, late);
}

std::string Patience::makeWarning() {
  const Clock::duration soon = timeout / 2;
  if (warned || !shared.options.warn || timeout.count() <= 0 ||
      (left > soon && watch.workTime() < soon))
    return "";
  warned = true;
  return left <= soon
             ? warnOf(shared.options, mine.report(), timeout - left)
             : warnOfWork(shared.options, mine.report(), watch.workTime());
}

bool Patience::look() {
  Clock::time_point now = Clock::now();
  std::unique_lock<std::mutex> lock(shared.waitingMutex);
  if (!known) {
    shared.waiting.push_back(&mine);
    known = true;
    sawProgress(slice); // from here on
    left = timeout - slice;
    last = now;
    return true;
  }
  Clock::duration between = now - last;
  last = now;
  if (sawProgress(between))
    left = timeout;
  else
    left -= countedTime(between, slice);
  std::string warning = makeWarning();
  lock.unlock();
  if (!warning.empty())
    shared.options.warn(warning);
  return timeout.count() <= 0 || left.count() > 0;
}

Dependence Patience::dependence() const {
  std::vector<Wait> all;
  for (const Waiting *other : shared.waiting)
    all.push_back(other->report());
  return follow(mine.report(), all, shared.progress.size());
}

bool Patience::sawProgress(Clock::duration elapsed) {
  std::vector<LifeSign> signs;
  for (const Progress *progress : shared.progress)
    signs.push_back(
        {progress->steps(), progress->cpuTime(), progress->isAtWork()});
  return watch.sawProgress(dependence(), elapsed, signs);
}

Status Patience::timedOut() {
  // Another rank was quicker, and may wait no more.
  if (shared.aborted.load())
    return shared.abortedStatus(mine.rank, mine.call);
  Blame who;
  {
    std::lock_guard<std::mutex> lock(shared.waitingMutex);
    who = blame(shared.options, dependence());
  }
  Call call{};
  call.kind = who.kind;
  call.op = who.op;
  return shared.fail(StatusCode::Unavailable, who.rank, call, who.why,
                     "see why, or raise --collective-timeout");
}

} // namespace dist::local
