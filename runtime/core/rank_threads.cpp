//===- rank_threads.cpp - The threads of a session's ranks ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/rank_threads.h"
#include "runtime/core/guard.h"
#include "runtime/device/cpu/cpus.h"
#include "runtime/device/cpu/sleeping_team.h"
#include "runtime/device/cpu/team.h"
#include <algorithm>
#include <condition_variable>
#include <unistd.h>

namespace dist {

namespace {
/// Between two steps the app does little; sleeping there would add a wake-up to
/// each.
constexpr int spinBetweenSteps = 100;
constexpr int spinInStep = 1000;
/// Between two loops of a step lies little else, and waking a helper takes as
/// long as a short loop; of what lies there without a loop the helper's CPU is
/// others'.
constexpr int spinBetweenLoops = 100;
constexpr int spinBetweenHostLoops = 5;
/// What a mesh's host does it does on the cores of those that wait for it.
constexpr int spinForHost = 20;

/// Whether the system has `count` threads more. libgomp, whose the helpers of
/// teams are, ends the process where it has not.
void probeThreads(int64_t count) {
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::vector<std::thread> threads;
  auto leave = [&] {
    {
      std::lock_guard<std::mutex> lock(mutex);
      over = true;
    }
    changed.notify_all();
    for (std::thread &thread : threads)
      thread.join();
  };
  try {
    while (int64_t(threads.size()) < count)
      threads.emplace_back([&] {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&] { return over; });
      });
  } catch (...) {
    leave();
    throw;
  }
  leave();
}
} // namespace

RankThreads::RankThreads(const std::vector<int> &threadsOfRank, bool withHost,
                         std::shared_ptr<ThreadTeam> sharedTeam,
                         bool ownHelpers)
    : threadsOfRank(threadsOfRank), threadIds(threadsOfRank.size()),
      allowed(threadsOfRank.size()), ranks(threadsOfRank.size()),
      withHost(withHost), ownHelpers(ownHelpers),
      team(sharedTeam ? std::move(sharedTeam)
                      : std::make_shared<ThreadTeam>()) {
  int64_t busy = 0;
  for (int rank = 0; rank < ranks - withHost; ++rank) {
    firstSeat.push_back(busy);
    busy += threadsOfRank[rank];
  }
  int64_t cpus = cpu::usableCpus().size();
  roomy = busy <= cpus;
  roomyWithHost = !withHost || busy + threadsOfRank.back() <= cpus;
  seats = cpu::chooseSeats(busy);
  startStatus = start();
}

Status RankThreads::start() {
  int64_t wanted = 0;
  for (int threads : threadsOfRank)
    wanted += threads;
  DIST_RETURN_IF_ERROR(checkProcess());
  Status status = withoutThrowing([&] {
    // Our helpers are there from the start; libgomp's come with the first
    // kernel.
    loops.resize(ranks);
    for (int rank = 0; rank < ranks; ++rank)
      if (isHost(rank))
        loops[rank] =
            team->helpersOf(rank, threadsOfRank[rank], spinBetweenHostLoops);
      else if (ownHelpers && threadsOfRank[rank] > 1)
        loops[rank] =
            team->helpersOf(rank, threadsOfRank[rank], spinBetweenLoops);
    team->grow(ranks - 1);
    if (ownHelpers)
      return Status();
    int64_t helpers = withHost ? threadsOfRank.front() - 1 : 0;
    for (int rank = 0; rank < ranks - withHost; ++rank)
      helpers += threadsOfRank[rank] - 1;
    probeThreads(helpers);
    DIST_RETURN_IF_ERROR(run([](int) {
      // Brings libgomp's helpers up.
      cpu::startTeam();
    }));
    return Status();
  });
  if (status.ok())
    return status;
  loops.clear();
  team.reset();
  return withoutThrowing([&] {
    return Status::error(StatusCode::Unavailable, "cannot start threads",
                         std::to_string(ranks) + " devices, " +
                             std::to_string(wanted) + " threads in all",
                         status.message());
  });
}

RankThreads::~RankThreads() = default;

Status RankThreads::checkProcess() const {
  const char *what = "this process was forked, without the threads";
  if (ranks > 1 && !team->isHere())
    return Status::error(StatusCode::InvalidArgument, what, "fork",
                         "other devices' are of the parent's process",
                         "open a session, with a team of its own, in this one");
  if (threadsOfRank.front() > 1 && !ownHelpers && cpu::isTeamLost())
    return Status::error(
        StatusCode::InvalidArgument, what, "fork",
        "libgomp's are of the parent's process, in which this thread has "
        "loaded a package of several threads",
        "fork before that, use another thread, or compile with --threads 1");
  return Status();
}

const int *RankThreads::seatsOf(int rank) const {
  return seats.empty() || isHost(rank) ? nullptr : &seats[firstSeat[rank]];
}

void RankThreads::sit(int rank) {
  std::unique_lock<std::mutex> lock(seatsMutex);
  int cpu = *seatsOf(rank);
  lock.unlock();
  if (sched_getcpu() != cpu)
    cpu::moveTo(cpu, 0, allowed[rank]);
}

bool RankThreads::giveSeat(int rank, int to) {
  int thread = threadIds[to].load();
  if (!seated || thread == 0 || !hasOneSeat(rank) || !hasOneSeat(to) ||
      !cpu::waitsForCpu(thread))
    return false;
  std::lock_guard<std::mutex> lock(seatsMutex);
  int &own = seats[firstSeat[rank]], &others = seats[firstSeat[to]];
  if (!cpu::moveTo(own, thread, allowed[to]))
    return false;
  std::swap(own, others);
  return true;
}

void RankThreads::runJob(int rank) {
  const int *own = seated ? seatsOf(rank) : nullptr;
  if (own) {
    allowed[rank] = cpu::ownCpus();
    threadIds[rank].store(gettid());
    sit(rank);
  }
  cpu::SleepingTeam *helpers = loops[rank];
  if (helpers)
    helpers->sit(own);
  // The library's kernels are made for the threads of a device; the host's
  // loops are cut for those of all.
  cpu::TeamScope scope(threadsOfRank[isHost(rank) ? 0 : rank], helpers,
                       hasOneSeat(rank) ? nullptr : own);
  Status status = withoutThrowing([&] {
    job(rank, data);
    return Status();
  });
  threadIds[rank].store(0);
  if (status.ok())
    return;
  std::lock_guard<std::mutex> lock(failureMutex);
  if (failure.ok())
    failure = std::move(status);
}

Status RankThreads::run(void (*newJob)(int, void *), void *newData) {
  DIST_RETURN_IF_ERROR(checkProcess());
  job = newJob;
  data = newData;
  failure = Status();
  // Others that sit down where the caller must stay would be in its way.
  const int *own = seatsOf(0);
  seated = own && cpu::sitOn(*own);
  team->run(ranks,
            [](int rank, void *self) {
              static_cast<RankThreads *>(self)->runJob(rank);
            },
            this, {std::min(spinBetweenSteps, spinForAll()), spinForAll()});
  return std::move(failure);
}

void RankThreads::parallelFor(dist_rt_kernel kernel, void **buffers, int64_t n,
                              int32_t chunks) {
  cpu::parallelFor(kernel, buffers, n, chunks);
}

int RankThreads::spinMicroseconds() const { return roomy ? spinInStep : 0; }

int RankThreads::spinForAll() const {
  return roomyWithHost ? spinMicroseconds()
                       : std::min(spinForHost, spinMicroseconds());
}

} // namespace dist
