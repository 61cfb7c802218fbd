//===- leases.cpp - Staying registered ------------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread of each process renews its leases, and looks for newcomers where it
// is the chief: training never waits for a store. Leases that have ended while
// the store was away, or that it has lost, are replaced, and what was under
// them is put again, so that the next meeting finds it.
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/membership_impl.h"
#include "runtime/core/text.h"
#include <algorithm>

using namespace etcdserverpb;

namespace dist::cluster {

/// What comes so much too late has been stopped, and when that was a moment
/// ago.
static constexpr milliseconds kShortestNap{700}, kFreshNap{5000};
/// Each how many times that the thread has something to do it renews the
/// leases.
static constexpr int kRenewalRounds = kRenewal / kRound;

Status Membership::Impl::grantLease(std::atomic<int64_t> *id) {
  LeaseGrantRequest request;
  request.set_ttl(kLeaseSeconds);
  LeaseGrantResponse response;
  StoreResult result =
      call([&] { return client->leaseGrant(request, &response); });
  *id = response.id();
  return result.ok() ? Status() : chiefIsGone(result);
}

void Membership::Impl::beginRenewal() {
  lastRenewal = roundEnd = around.now();
  renewal = around.repeat(kRound, [this] { serveLeases(); });
}

void Membership::Impl::serveLeases() {
  noteNap(around.now() - roundEnd - kRound);
  if (++rounds % kRenewalRounds == 0)
    renewLeases();
  if (options.isElastic)
    lookForNewcomers();
  if (options.takesWorkersBack)
    serveReturns();
  roundEnd = around.now();
}

void Membership::Impl::noteNap(Clock::duration late) {
  if (late <= kShortestNap)
    return;
  napSeconds = std::chrono::duration<double>(late).count();
  napEnd = around.now();
}

double Membership::Impl::findNap() {
  // That thread has slept, too, and has as little to do when it wakes.
  const int seen = rounds;
  for (Clock::time_point end = around.now() + kRound + kShortestNap;
       renewal && rounds == seen && around.now() < end;)
    around.sleep(kShortestPause);
  return around.now() - napEnd.load() < kFreshNap ? napSeconds.load() : 0;
}

/// False: it has ended. A store that is away matters to those alone who wait
/// for an answer.
bool Membership::Impl::isRenewed(int64_t id) {
  LeaseKeepAliveResponse response;
  StoreResult result = leases->leaseKeepAlive(id, &response);
  return !result.ok() || response.ttl() > 0;
}

void Membership::Impl::renewLeases() {
  const Clock::time_point now = around.now();
  wasAsleep |= now - lastRenewal > std::chrono::seconds(kLeaseSeconds);
  lastRenewal = now;
  if (keepsRun)
    keepRun();
  const bool isOwnOver = !isRenewed(lease);
  const bool isKeptOver = options.store && !isRenewed(keptLease);
  if (isOwnOver || isKeptOver)
    registerAnew(isOwnOver, isKeptOver);
}

/// It is under a lease of who was the chief when the newest roll was closed,
/// and that one may be gone.
void Membership::Impl::keepRun() {
  RangeRequest request;
  std::string now;
  {
    std::lock_guard<std::mutex> guard(duty);
    request.set_key(runKey());
    now = run;
  }
  RangeResponse response;
  if (leases->range(request, &response).ok() && response.kvs_size() == 1 &&
      response.kvs(0).value() == now && response.kvs(0).lease() != keptLease)
    (void)isRenewed(response.kvs(0).lease());
}

/// That what is put is put in this process's place, and in no other's.
void Membership::Impl::compareAnew(bool isOwnOver, bool isKeptOver,
                                   TxnRequest *request) const {
  // Another one may have come in its place.
  for (auto &[key, text] : told)
    if (isOwnOver && startsWith(key, root + kBack))
      compareMissing(key, request);
  if (!options.store) {
    // Where the others have gone on without this process, or another run's
    // chief is at the address now, it has no place.
    compareValue(folder(kRoll), closedRoll, request);
    compareValue(root + kEpoch, std::to_string(epoch), request);
    return;
  }
  if (!leads)
    return fence(request);
  if (isKeptOver) {
    compareMissing(runKey(), request);
  } else {
    compareValue(runKey(), run, request);
    compareValue(root + kEpoch, std::to_string(epoch), request);
  }
  isOwnOver ? compareMissing(root + kChief, request)
            : compareValue(root + kChief, describeChief(), request);
}

void Membership::Impl::registerAnew(bool isOwnOver, bool isKeptOver) {
  const int64_t ownBefore = lease, keptBefore = keptLease;
  LeaseGrantRequest request;
  request.set_ttl(kLeaseSeconds);
  LeaseGrantResponse own, kept;
  if ((isOwnOver && !leases->leaseGrant(request, &own).ok()) ||
      (isKeptOver && !leases->leaseGrant(request, &kept).ok()))
    return; // until the next time
  TxnRequest anew;
  int64_t seen = 0;
  {
    std::lock_guard<std::mutex> guard(duty);
    // What a run's chief has put is gone for all when its lease is. One that
    // has slept for so long does not know whether the others have gone on, and
    // ended, without it.
    if (isMeeting || (options.store && leads && wasAsleep))
      return;
    seen = epoch;
    compareAnew(isOwnOver, isKeptOver, &anew);
    // The run before what is in it.
    if (isKeptOver)
      putAnew(/*isOwn=*/false, kept.id(), &anew);
    if (isOwnOver)
      putAnew(/*isOwn=*/true, own.id(), &anew);
  }
  TxnResponse response;
  if (!leases->txn(anew, &response).ok() || !response.succeeded())
    return;
  std::lock_guard<std::mutex> guard(duty);
  // What is put from now on is under leases that were mended.
  if (isMeeting || epoch != seen || lease != ownBefore ||
      keptLease != keptBefore)
    return;
  if (isOwnOver)
    lease = own.id();
  if (isKeptOver)
    keptLease = kept.id();
}

/// What goes with this process, or what others may want to read then.
void Membership::Impl::putAnew(bool isOwn, int64_t id,
                               TxnRequest *request) const {
  const bool leadsRun = leads && options.store;
  if (leadsRun && !isOwn) {
    addPut(runKey(), run, id, request);
    addPut(root + kEpoch, std::to_string(epoch), id, request);
    addPut(root + kNext, std::to_string(epoch), id, request);
  }
  if (leadsRun && isOwn)
    for (auto &[key, value] : chiefsKeys(root))
      addPut(key, value, id, request);
  for (auto &[key, text] : told)
    if (text.second == isOwn)
      addPut(key, text.first, id, request);
}

Status Membership::Impl::mendLeases() {
  for (std::atomic<int64_t> *one : {&lease, &keptLease})
    if ((options.store || one == &lease) && !isRenewed(*one))
      DIST_RETURN_IF_ERROR(grantLease(one));
  return Status();
}

void Membership::Impl::lookForNewcomers() {
  RangeRequest request;
  int64_t seen = 0;
  {
    std::lock_guard<std::mutex> guard(duty);
    if (isMeeting || !leads)
      return;
    request = rangeOf(root + kNewcomers);
    seen = epoch;
  }
  RangeResponse response;
  std::map<int, std::string> newcomers;
  if (!leases->range(request, &response).ok())
    return;
  takeNumbers(response, request.key(), &newcomers);
  std::lock_guard<std::mutex> guard(duty);
  if (isMeeting || epoch != seen)
    return;
  // One that has left again costs a meeting.
  for (auto &[number, value] : newcomers)
    if (std::count(numbers.begin(), numbers.end(), number) == 0)
      sawNewcomers = true;
}

void Membership::Impl::beginMeeting() {
  std::lock_guard<std::mutex> guard(duty);
  isMeeting = true;
  sawNewcomers = false;
  told.clear();
}

void Membership::Impl::endMeeting() {
  std::lock_guard<std::mutex> guard(duty);
  isMeeting = false;
}

} // namespace dist::cluster
