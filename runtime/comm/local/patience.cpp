//===- patience.cpp - How long a rank waits for others --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/patience.h"
#include <algorithm>
#include <cstdio>

namespace dist::local {

namespace {
using Clock = Patience::Clock;
/// How often a waiting rank looks at the others.
constexpr std::chrono::milliseconds longestSlice{200};
/// A thread that computes gets at least this part of a CPU, however busy the
/// machine is; one that waits and looks around now and then takes less.
constexpr int leastPart = 200;

Clock::duration toDuration(double seconds) {
  // What a clock of nanoseconds can count, with room for the time of day.
  constexpr double longest = 4e9;
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(seconds, longest)));
}
} // namespace

void Waiting::addMissing(std::vector<int> *ranks) const {
  if (!group) {
    ranks->push_back(sender);
    return;
  }
  for (size_t i = 0; i < group->members.size(); ++i)
    if (group->slots[i].arrived.load() < phase)
      ranks->push_back(group->members[i]);
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

std::string Patience::makeWarning() {
  if (warned || !shared.options.warn || timeout.count() <= 0 ||
      left > timeout / 2)
    return "";
  warned = true;
  std::vector<int> missing;
  mine.addMissing(&missing);
  std::string text = "rank " + std::to_string(mine.rank) + " waits at " +
                     name(mine.call.kind) + " of " +
                     shared.opName(mine.rank, mine.call.op) + " for rank";
  for (int rank : missing)
    text += " " + std::to_string(rank);
  char seconds[64];
  std::snprintf(seconds, sizeof seconds, ", which shows no progress for %.3g s",
                std::chrono::duration<double>(timeout - left).count());
  return text + seconds;
}

bool Patience::look(Clock::duration suspended) {
  Clock::time_point now = Clock::now();
  std::unique_lock<std::mutex> lock(shared.waitingMutex);
  if (!known) {
    shared.waiting.push_back(&mine);
    known = true;
    seen.resize(shared.progress.size());
    sawProgress(slice); // from here on
    left = timeout - slice;
    last = now;
    return true;
  }
  Clock::duration elapsed = now - last - suspended;
  last = now;
  if (sawProgress(elapsed))
    left = timeout;
  else
    left -= elapsed;
  std::string warning = makeWarning();
  lock.unlock();
  if (!warning.empty())
    shared.options.warn(warning);
  return timeout.count() <= 0 || left.count() > 0;
}

void Patience::follow(std::vector<const Waiting *> *waits,
                      std::vector<int> *free) {
  std::vector<bool> done(shared.progress.size());
  waits->assign(1, &mine);
  for (size_t next = 0; next < waits->size(); ++next) {
    std::vector<int> missing;
    (*waits)[next]->addMissing(&missing);
    for (int rank : missing) {
      if (done[rank])
        continue;
      done[rank] = true;
      bool waitsItself = false;
      for (const Waiting *other : shared.waiting)
        if (other->rank == rank) {
          waitsItself = true;
          waits->push_back(other);
        }
      if (!waitsItself)
        free->push_back(rank);
    }
  }
}

bool Patience::sawProgress(Clock::duration elapsed) {
  std::vector<const Waiting *> waits;
  std::vector<int> ranks;
  follow(&waits, &ranks);
  // Of one whose thread waits, the CPU time is that of looking around.
  std::vector<bool> idle(shared.progress.size());
  for (const Waiting *wait : waits) {
    if (wait->rank != mine.rank)
      ranks.push_back(wait->rank);
    if (!wait->background)
      idle[wait->rank] = true;
  }
  bool moved = false;
  int64_t least =
      std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count() /
      leastPart;
  for (int rank : ranks) {
    const Progress &progress = *shared.progress[rank];
    uint64_t steps = progress.steps();
    int64_t cpuTime = progress.cpuTime();
    Seen &before = seen[rank];
    moved |= steps != before.steps;
    moved |= !idle[rank] && cpuTime - before.cpuTime > least;
    before = {steps, cpuTime};
  }
  return moved;
}

Status Patience::timedOut() {
  // Another rank was quicker, and may wait no more.
  if (shared.aborted.load())
    return shared.abortedStatus(mine.rank, mine.call);
  std::string why, within = " " + shared.withinTimeout();
  Waiting who = mine;
  {
    std::lock_guard<std::mutex> lock(shared.waitingMutex);
    std::vector<const Waiting *> waits;
    std::vector<int> free;
    follow(&waits, &free);
    // The first whose missing ranks wait for nobody; if all wait, the loop.
    for (const Waiting *wait : waits) {
      std::vector<int> missing;
      wait->addMissing(&missing);
      missing.erase(std::remove_if(missing.begin(), missing.end(),
                                   [&](int rank) {
                                     return std::find(free.begin(), free.end(),
                                                      rank) == free.end();
                                   }),
                    missing.end());
      if (missing.empty())
        continue;
      who = *wait;
      std::string ranks;
      for (int rank : missing)
        ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
      bool one = missing.size() == 1;
      why = (one ? "rank " : "ranks ") + ranks;
      if (who.group)
        why += " did not arrive" + within + " of " + (one ? "its" : "their") +
               " last progress";
      else
        why += " sent nothing with tag " + std::to_string(who.tag) + within +
               " of its last progress, and rank " + std::to_string(who.rank) +
               " waits for it";
      break;
    }
    if (why.empty()) {
      why = "ranks wait for each other" + within + ":";
      for (const Waiting *wait : waits) {
        std::vector<int> missing;
        wait->addMissing(&missing);
        why += wait == waits.front() ? " rank " : ", rank ";
        why += std::to_string(wait->rank) + " at " + name(wait->call.kind) +
               " of " + shared.opName(wait->rank, wait->call.op) + " for rank";
        for (int rank : missing)
          why += " " + std::to_string(rank);
      }
    }
  }
  return shared.fail(StatusCode::Unavailable, who.rank, who.call, why,
                     "see why, or raise --collective-timeout");
}

} // namespace dist::local
