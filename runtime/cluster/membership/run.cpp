//===- run.cpp - A run's part of an etcd ----------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An etcd outlives the processes, and may serve others, too. A run's keys are
// under a name that its chief makes anew each time, and tells the others by one
// key of the job. What a run before has left is then never taken for this
// one's, and all of it is under leases: it goes by itself.
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/client.h"
#include "runtime/cluster/membership/member.pb.h"
#include "runtime/cluster/membership/membership_impl.h"
#include "runtime/cluster/network.h"
#include "runtime/cluster/security/keyed.h"
#include "runtime/core/text.h"
#include <algorithm>

using namespace etcdserverpb;

namespace dist::cluster {

static constexpr size_t kNameBytes = 8;
/// What a call may take beyond its deadline, in milliseconds.
static constexpr int64_t kSlack = 1000;

bool isAway(const StoreResult &result) {
  return result.code == StoreCode::Unavailable ||
         result.code == StoreCode::DeadlineExceeded;
}

Status findStore(const SharedStore &store,
                 const std::optional<JobSecret> &secret, double seconds,
                 EtcdClientOptions *out) {
  SystemNetwork network;
  std::vector<std::string> hosts;
  out->addresses.clear();
  for (const Address &address : store.addresses) {
    hosts.push_back(address.host);
    out->addresses.push_back(address.text());
  }
  // The name of a member that is gone may be so, too: gRPC looks again.
  std::string why = awaitAnyHost(hosts, seconds, network);
  if (!why.empty())
    return Status::error(StatusCode::Unavailable,
                         "a host of the cluster's store is not known",
                         store.text(), why, "correct --coordination");
  out->timeout =
      store.addresses.size() > 1 ? kNextMilliseconds : kCallMilliseconds;
  out->tls = store.isCoordinator ? certificatesOf(secret) : std::nullopt;
  if (store.isEncrypted) {
    out->tls = {store.authority, store.certificate, store.key, ""};
    out->tlsName = "";
  }
  return Status();
}

bool Membership::Impl::sleptThrough(Clock::time_point begin) const {
  return around.now() - begin > milliseconds(kCallMilliseconds + kSlack);
}

Status Membership::Impl::storeFails(const StoreResult &result) const {
  if (result.code == StoreCode::FailedPrecondition)
    return Status::error(
        StatusCode::Unavailable, "the cluster cannot go on by its store",
        options.store.text(), result.message, "look at the chief why");
  if (options.store.isCoordinator && result.code == StoreCode::Unauthenticated)
    return refuseSecret("the coordinator", options.store.text(),
                        options.secret.has_value());
  if (options.store.isEncrypted && result.code == StoreCode::Unauthenticated)
    return Status::error(
        StatusCode::Unavailable, "the cluster's store is not known",
        options.store.text(), result.message,
        "give the authority that has signed its certificate (--etcd-ca), and "
        "an address that is in that; it must be valid now");
  if (!isAway(result))
    return Status::error(
        StatusCode::Unavailable, "the cluster's store refuses a call",
        options.store.text(), result.message,
        "give an etcd of version 3.4 or later that asks for no user");
  const bool mayBeSecret = options.store.isCoordinator && !options.secret;
  const bool mayBeUnknown =
      !options.store.isCoordinator && options.store.certificate.empty();
  return Status::error(
      StatusCode::Unavailable, "the cluster's store does not answer",
      options.store.text(),
      result.message +
          (mayBeSecret    ? " (a coordinator that has a secret answers those "
                            "alone that have it, too)"
           : mayBeUnknown ? " (an etcd that asks for certificates answers "
                            "those alone that show one: etcds://, "
                            "--etcd-cert)"
           : options.store.isEncrypted
               ? " (an etcd that does not accept --etcd-cert does not answer: "
                 "its --trusted-ca-file must have who has signed that)"
               : ""),
      std::string("start ") +
          (options.store.isCoordinator ? "dist-run coordinator" : "an etcd") +
          " there, or correct --coordination");
}

StoreResult Membership::Impl::call(const std::function<StoreResult()> &once) {
  const Clock::time_point begin = around.now();
  noteNap(begin - lastCall);
  StoreResult result = once();
  lastCall = around.now();
  // One whose other end is gone does not take long to find out.
  if (result.code == StoreCode::Unavailable || sleptThrough(begin))
    noteNap(lastCall - begin);
  // A deadline that passed while this process was stopped says nothing.
  if (!options.store)
    return isAway(result) && sleptThrough(begin) ? once() : result;
  const std::chrono::duration<double> time(getStoreSeconds());
  for (Clock::time_point first = around.now();
       isAway(result) && around.now() - first < time; result = once()) {
    around.sleep(kShortestPause);
    client->waitForConnection(kLongestPause.count());
  }
  return result;
}

StoreResult Membership::Impl::runIsOver() const {
  return {StoreCode::FailedPrecondition,
          "the run is over there: its chief has left, or was silent for longer "
          "than " +
              std::to_string(kLeaseSeconds) + " s, or the store was emptied"};
}

/// Another process may have taken this chief's place: what follows shows it.
bool Membership::Impl::isDeposed(const StoreResult &result) {
  if (!options.store || result.code != StoreCode::FailedPrecondition)
    return false;
  leads = false;
  return true;
}

void Membership::Impl::fence(TxnRequest *request) const {
  compareValue(runKey(), run, request);
  if (leads)
    compareValue(root + kChief, describeChief(), request);
}

/// A job is told from others by its processes' addresses, and by its secret.
std::string Membership::Impl::runKey() const {
  std::string addresses;
  for (const Task &task : all)
    addresses += task.text() + " " + options.spec.find(task)->text() + " ";
  std::string name = authenticate(options.secret ? options.secret->text() : "",
                                  "dist job " + addresses);
  return kRoot + std::string("jobs/") + toHex(name.substr(0, kNameBytes)) +
         "/run";
}

/// Which run the job is at; empty: none.
StoreResult Membership::Impl::readRun(std::string *now) {
  std::optional<std::string> text;
  StoreResult result = readText(runKey(), &text);
  *now = text.value_or("");
  return result;
}

void Membership::Impl::beRunOf(const std::string &name) {
  std::lock_guard<std::mutex> guard(duty);
  told.clear(); // in the run before
  run = name;
  epoch = 0;
  root = run.empty() ? kRoot : runKey() + "/" + run + "/";
}

/// For the first chief: begins when the run before is over, for the store, too.
Status Membership::Impl::beginRun(bool *isLate) {
  std::string bytes;
  DIST_RETURN_IF_ERROR(around.randomBytes(kNameBytes, &bytes));
  const std::string own = toHex(bytes);
  bool isTold = !options.note;
  for (beginWait();; around.sleep(kLongestPause)) {
    beRunOf("");
    std::optional<std::string> kept;
    StoreResult result = putFirst(runKey(), own, /*leased=*/true, &kept,
                                  chiefsKeys(runKey() + "/" + own + "/"));
    if (result.ok() && !kept) {
      beRunOf(own);
      leads = true;
      return Status();
    }
    // This one's task is no chief's in a run that has gone on without it.
    std::optional<std::string> present;
    int number = -1;
    if (result.ok() && options.isElastic) {
      beRunOf(*kept);
      result = readChief(&present, &number);
    }
    if (!result.ok())
      return storeFails(result);
    *isLate = present && number != numbers[self];
    if (*isLate)
      return Status();
    if (isPast(2 * kLeaseSeconds))
      return Status::error(
          StatusCode::InvalidInput, "the job runs already",
          options.store.text(),
          "another chief of a cluster with these addresses is there",
          "end that run (one that was killed is forgotten after " +
              std::to_string(kLeaseSeconds) +
              " s), or give this one other addresses or another secret");
    if (!isTold)
      options.note("waiting until the store has forgotten the run before, up "
                   "to " +
                   std::to_string(kLeaseSeconds) + " s");
    isTold = true;
  }
}

Status Membership::Impl::enterRun() {
  while (true) {
    bool isLate = false, isOver = false;
    if (self == chief)
      DIST_RETURN_IF_ERROR(beginRun(&isLate));
    if (!isLate)
      DIST_RETURN_IF_ERROR(meetFirst(&isLate));
    if (isLate)
      DIST_RETURN_IF_ERROR(waitUntilTakenIn(&isOver));
    if (!isOver)
      return Status();
    beRunOf("");
  }
}

Status Membership::Impl::meetFirst(bool *isLate) {
  const std::string own = describeSelf();
  bool hasEntered = false;
  for (beginWait();;) {
    std::string now;
    std::optional<std::string> roll, kept, begun;
    std::map<int, std::string> present;
    StoreResult result = readRun(&now);
    if (result.ok() && now != run) {
      if (leads)
        return storeFails(runIsOver());
      beRunOf(now);
      hasEntered = false;
    }
    if (result.ok() && !run.empty() && mayTakePlace() && !hasEntered) {
      result = readRoll(&roll);
      if (roll && !isIn(*roll))
        return beBack(*roll);
    }
    // Before the roll, which is closed together with it.
    if (result.ok() && !run.empty() && options.isElastic)
      result = readText(root + kEpoch, &begun);
    if (result.ok() && !run.empty() && !hasEntered && !begun) {
      result = putFirst(keyOf(kPresent, self), own, /*leased=*/true, &kept);
      hasEntered = result.ok() && !kept;
    }
    // The next may have begun in between.
    if (result.code == StoreCode::FailedPrecondition && !leads)
      continue;
    // The process may be one of a run that is over, as its store will see.
    if (kept && isPast(2 * kLeaseSeconds))
      return isTaken(*kept);
    if (result.ok() && hasEntered)
      result = readRoll(&roll);
    if (roll && isIn(*roll))
      return readMembers(*roll);
    *isLate = result.ok() && begun;
    if (*isLate)
      return Status();
    if (result.ok() && hasEntered)
      result = list(folder(kPresent), true, &present);
    std::string closed;
    // By the chief alone: one that is gone closes none.
    const bool isWhole = leads && present.size() == numbers.size();
    if (result.ok() && isWhole)
      result = closeRoll(present, &closed);
    if (!result.ok())
      return storeFails(result);
    if (isWhole)
      return readMembers(closed);
    std::vector<int> missing;
    for (int member = 0; member < int(numbers.size()); ++member)
      if (hasEntered && !present.count(member))
        missing.push_back(member);
    if (missing.empty())
      missing.push_back(kept ? self : chief);
    DIST_RETURN_IF_ERROR(wait(missing, hasEntered ? folder(kPresent) : ""));
  }
}

} // namespace dist::cluster
