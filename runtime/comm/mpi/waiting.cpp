//===- waiting.cpp - Waits for MPI, and how they end ----------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/common/waits.h"
#include "runtime/comm/mpi/rank.h"
#include <algorithm>
#include <chrono>
#include <thread>

namespace dist::mpi {

using Clock = std::chrono::steady_clock;

/// Of notices, on a group of their own.
static constexpr int kNoticeTag = 0;
/// How long a collective that is under way may still end when another rank has
/// said that it has failed.
static constexpr std::chrono::seconds kOrderlyEnd{2};
/// How often a wait looks at least, where its process has a CPU: no longer
/// counts as waited for others, who may have none either.
static constexpr std::chrono::milliseconds kSlice{50};
/// After this part of the timeout a rank tells the others where it waits. Who
/// comes there later does so at once: nobody counts it as missing.
static constexpr int kPartUntilTold = 10;

//===----------------------------------------------------------------------===//
// What ranks tell each other, whatever else is under way
//===----------------------------------------------------------------------===//

void MpiCommunicator::tell(const Notice &notice, const std::vector<int> &to) {
  for (int other : to) {
    if (other == rank())
      continue;
    Told &one = told.emplace_back();
    one.notice = notice;
    if (mpi.send(notices, &one.notice, sizeof notice, other, kNoticeTag,
                 &one.request) != 0)
      told.pop_back();
  }
}

void MpiCommunicator::tellWhereItWaits(const Description &d) {
  Notice notice;
  notice.generation = current;
  notice.ends = 0;
  notice.rank = rank();
  notice.group = int32_t(d.groupIndex);
  notice.history = own[d.groupIndex].history;
  std::lock_guard<std::mutex> lock(calls);
  if (!broken)
    tell(notice, *d.members);
}

bool MpiCommunicator::waitsAt(const Description &d, int member) const {
  auto found = waiting.find({member, d.groupIndex});
  return found != waiting.end() && found->second == own[d.groupIndex].history;
}

bool MpiCommunicator::doOthersWait(const Description &d) {
  std::lock_guard<std::mutex> lock(calls);
  return std::any_of(d.members->begin(), d.members->end(),
                     [&](int member) { return waitsAt(d, member); });
}

void MpiCommunicator::forgetWaits(const Description &d) {
  if (waitsHeard == 0)
    return;
  std::lock_guard<std::mutex> lock(calls);
  for (int member : *d.members)
    waiting.erase({member, d.groupIndex});
  if (waiting.empty())
    waitsHeard = 0;
}

void MpiCommunicator::listen() {
  while (hear()) {
  }
}

bool MpiCommunicator::hear() {
  if (!listening && mpi.recv(notices, &heard, sizeof heard, DIST_COMM_ANY_RANK,
                             kNoticeTag, &listening) != 0)
    return false;
  int done = 0;
  if (mpi.test(listening, &done) != 0 || done)
    listening = nullptr;
  if (!done)
    return false;
  std::lock_guard<std::mutex> lock(ending);
  if (heard.generation != current)
    return true;
  if (!heard.ends) {
    waiting[{heard.rank, heard.group}] = heard.history;
    ++waitsHeard;
  } else if (!hasEnded) {
    reason = Status::error(StatusCode::Unavailable, heard.reason);
    hasEnded = true;
  }
  return true;
}

void MpiCommunicator::lookAround() {
  listen();
  // One that fails is missed by who waits for it.
  auto isOver = [&](Request *&request) {
    int done = 0;
    bool over = mpi.test(request, &done) != 0 || done;
    if (over)
      request = nullptr;
    return over;
  };
  kept.erase(std::remove_if(kept.begin(), kept.end(),
                            [&](auto &one) { return isOver(one->request); }),
             kept.end());
  told.remove_if([&](Told &one) { return isOver(one.request); });
}

//===----------------------------------------------------------------------===//
// Waits
//===----------------------------------------------------------------------===//

Status MpiCommunicator::tooLate(const Description &d, For what) {
  Wait wait;
  wait.rank = rank();
  wait.background = d.what.background;
  wait.kind = d.what.kind;
  wait.op = d.what.op;
  wait.tag = d.what.tag;
  wait.forMessage = what == For::Message || what == For::Taking;
  if (wait.forMessage)
    wait.missing = {d.rankAt(groups, d.what.peer)};
  if (what == For::Ranks) {
    std::lock_guard<std::mutex> lock(calls);
    for (int member : *d.members)
      if (member != rank() && !waitsAt(d, member))
        wait.missing.push_back(member);
  }
  std::string why;
  if (wait.missing.empty()) {
    why = "MPI has not done it " + withinTimeout(options) +
          ", though all its ranks have come";
  } else {
    Dependence dependence = follow(wait, {}, ranks());
    dependence.countsFromBegin = true;
    why = blame(options, dependence).why;
  }
  return Status::error(
      StatusCode::Unavailable, std::string(name(wait.kind)) + " failed",
      opName(options, rank(), wait.op), why,
      "see why, or raise --collective-timeout, which counts the time in which "
      "others compute, too, with --communicator mpi");
}

template <typename Test>
Status MpiCommunicator::waitUntil(const Description &d, For what, Test test) {
  Clock::time_point last = Clock::now();
  Clock::duration waited{0}, sinceEnd{0};
  auto awake = std::chrono::microseconds(
      d.what.background ? 0 : options.spinMicroseconds);
  // What is not MPI's yet is taken back by not asking for it again.
  bool isOurs = what == For::Message || what == For::Taking;
  bool isTold = what != For::Ranks;
  uint64_t heardBefore = 0;
  bool ends = false;
  while (true) {
    Tested tested;
    {
      std::lock_guard<std::mutex> lock(calls);
      tested = test();
    }
    if (tested.code != 0)
      return failed(d, tested.code);
    if (tested.isOver)
      return Status();
    // Who says that it has ended may have finished this very collective: it is
    // over here, too, soon, and MPI need not be given up.
    if (Status status = whyEnded(); !status.ok()) {
      if (isOurs)
        return status;
      ends = true;
      if (sinceEnd > kOrderlyEnd) {
        giveUp();
        return status;
      }
    }
    Clock::time_point now = Clock::now();
    (ends ? sinceEnd : waited) += countedTime(now - last, kSlice);
    last = now;
    Clock::duration most = toDuration(options.timeout);
    if (!ends && options.timeout > 0) {
      uint64_t heardNow = waitsHeard;
      if (!isTold && (waited > most / kPartUntilTold ||
                      (heardNow != heardBefore && doOthersWait(d)))) {
        tellWhereItWaits(d);
        isTold = true;
      }
      heardBefore = heardNow;
      if (waited > most) {
        Status status = fail(tooLate(d, what));
        if (!isOurs)
          giveUp();
        return status;
      }
    }
    if (waited + sinceEnd > awake)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Status MpiCommunicator::wait(const Description &d,
                             std::vector<Request *> &requests, For what) {
  return waitUntil(d, what, [&] {
    Tested result{0, true};
    for (Request *&request : requests) {
      int done = 0;
      if (request && result.code == 0)
        result.code = mpi.test(request, &done);
      if (done)
        request = nullptr;
      result.isOver &= !request;
    }
    lookAround();
    return result;
  });
}

Status MpiCommunicator::waitForMessage(const Frame &f, int64_t room,
                                       std::vector<char> *other,
                                       int64_t *bytes) {
  int from = f.memberAt[f.d.what.peer];
  f.plan.requests.assign(1, nullptr);
  DIST_RETURN_IF_ERROR(waitUntil(f.d, For::Message, [&] {
    int found = 0;
    Tested result;
    result.code = mpi.probe(f.group, from, f.d.what.tag, &found, bytes);
    if (result.code == 0 && found) {
      if (*bytes > room)
        other->resize(*bytes);
      result.code = mpi.recv(f.group, *bytes > room ? other->data() : f.in,
                             *bytes, from, f.d.what.tag, &f.plan.requests[0]);
      result.isOver = true;
    }
    lookAround();
    return result;
  }));
  return wait(f.d, f.plan.requests, For::Mpi);
}

Status MpiCommunicator::waitForKept(const Frame &f) {
  return waitUntil(f.d, For::Taking, [&] {
    lookAround();
    return Tested{0, f.plan.kept->request == nullptr};
  });
}

} // namespace dist::mpi
