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
#include "runtime/cluster/membership/member.pb.h"
#include "runtime/cluster/membership/membership_impl.h"
#include "runtime/cluster/network.h"
#include "runtime/cluster/security/keyed.h"
#include <algorithm>

using namespace etcdserverpb;

namespace dist::cluster {

/// How long an etcd may be away while processes meet.
static constexpr double kEtcdSeconds = 10;
static constexpr size_t kNameBytes = 8;

static bool isAway(const StoreResult &result) {
  return result.code == StoreCode::Unavailable ||
         result.code == StoreCode::DeadlineExceeded;
}

std::string chiefKey(const Address &chief) {
  return kRoot + std::string("chiefs/") + chief.text();
}

Status findStore(const SharedStore &store, std::string *target) {
  SystemNetwork network;
  bool isIpv6 = false;
  target->clear();
  for (const Address &address : store.addresses) {
    std::string why;
    std::vector<std::string> literals = network.resolve(address.host, &why);
    if (literals.empty())
      return Status::error(StatusCode::Unavailable,
                           "a host of the cluster's store is not known",
                           address.text(), why, "correct --coordination");
    bool isOther = literals.front().find(':') != std::string::npos;
    // gRPC wants all of one kind.
    if (!target->empty() && isOther != isIpv6)
      return Status::error(StatusCode::InvalidInput,
                           "the store's addresses are of two kinds",
                           address.text(), "some are IPv4, and some IPv6",
                           "give those of one kind in --coordination");
    isIpv6 = isOther;
    *target += (target->empty() ? "" : ",") +
               Address{literals.front(), address.port}.text();
  }
  *target = (isIpv6 ? "ipv6:" : "ipv4:") + *target;
  return Status();
}

Status Membership::Impl::storeFails(const StoreResult &result) const {
  if (result.code == StoreCode::FailedPrecondition)
    return Status::error(
        StatusCode::Unavailable, "the cluster cannot go on by its store",
        options.store.text(), result.message, "look at the chief why");
  if (options.store.isCoordinator && result.code == StoreCode::Unauthenticated)
    return refuseSecret("the coordinator", options.store.text(),
                        options.secret.has_value());
  if (!isAway(result))
    return Status::error(
        StatusCode::Unavailable, "the cluster's store refuses a call",
        options.store.text(), result.message,
        "give an etcd of version 3.4 or later that asks for no user");
  const bool mayBeSecret = options.store.isCoordinator && !options.secret;
  return Status::error(
      StatusCode::Unavailable, "the cluster's store does not answer",
      options.store.text(),
      result.message + (mayBeSecret ? " (a coordinator that has a secret "
                                      "answers those alone that have it, too)"
                                    : ""),
      std::string("start ") +
          (options.store.isCoordinator ? "dist-run coordinator" : "an etcd") +
          " there, or correct --coordination");
}

StoreResult Membership::Impl::call(const std::function<StoreResult()> &once) {
  StoreResult result = once();
  if (!options.store)
    return result;
  double seconds = kEtcdSeconds;
  if (options.timeout > 0)
    seconds = std::min(seconds, options.timeout);
  const std::chrono::duration<double> time(seconds);
  for (Clock::time_point first = around.now();
       isAway(result) && around.now() - first < time; result = once()) {
    around.sleep(kShortestPause);
    client->waitForConnection(kLongestPause.count());
  }
  return result;
}

Status Membership::Impl::grantLease(int64_t *id) {
  LeaseGrantRequest request;
  request.set_ttl(kLeaseSeconds);
  LeaseGrantResponse response;
  StoreResult result =
      call([&] { return client->leaseGrant(request, &response); });
  *id = response.id();
  return result.ok() ? Status() : storeFails(result);
}

StoreResult Membership::Impl::runIsOver() const {
  return {StoreCode::FailedPrecondition,
          "the run is over there: its chief has left, or was silent for longer "
          "than " +
              std::to_string(kLeaseSeconds) + " s, or the store was emptied"};
}

void Membership::Impl::fence(TxnRequest *request) const {
  Compare *compare = request->add_compare();
  compare->set_key(runKey());
  compare->set_target(Compare::VALUE);
  compare->set_value(run);
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
  RangeRequest request;
  request.set_key(runKey());
  RangeResponse response;
  StoreResult result = call([&] { return client->range(request, &response); });
  *now = response.kvs_size() == 1 ? response.kvs(0).value() : "";
  return result;
}

/// For the chief: begins when the run before is over, for the store, too.
Status Membership::Impl::beginRun() {
  std::string bytes;
  DIST_RETURN_IF_ERROR(around.randomBytes(kNameBytes, &bytes));
  const std::string own = toHex(bytes);
  bool isTold = !options.note;
  for (beginWait();; around.sleep(kLongestPause)) {
    std::optional<std::string> kept;
    StoreResult result = putFirst(runKey(), own, /*leased=*/true, &kept);
    if (!result.ok())
      return storeFails(result);
    if (!kept) {
      beRunOf(own);
      return tellWhere();
    }
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

/// For who asks the chief's store for it, and finds none at its address.
Status Membership::Impl::tellWhere() {
  PutRequest request;
  request.set_key(chiefKey(*options.spec.find(taskOf(chief))));
  request.set_value(root);
  request.set_lease(lease);
  PutResponse response;
  StoreResult result = call([&] { return client->put(request, &response); });
  return result.ok() ? Status() : storeFails(result);
}

void Membership::Impl::beRunOf(const std::string &name) {
  run = name;
  root = runKey() + "/" + run + "/";
}

Status Membership::Impl::enterRun() {
  if (self == chief)
    DIST_RETURN_IF_ERROR(beginRun());
  const std::string own = describeSelf();
  bool isIn = false;
  for (beginWait();;) {
    std::string now;
    std::optional<std::string> roll, kept;
    std::map<int, std::string> present;
    StoreResult result = readRun(&now);
    if (result.ok() && now != run) {
      if (self == chief)
        return storeFails(runIsOver());
      beRunOf(now);
      isIn = false;
    }
    if (result.ok() && !run.empty() && !isIn) {
      result = putFirst(keyOf(kPresent, self), own, /*leased=*/true, &kept);
      isIn = result.ok() && !kept;
    }
    // The next may have begun in between.
    if (result.code == StoreCode::FailedPrecondition && self != chief)
      continue;
    // The process may be one of a run that is over, as its store will see.
    if (kept && isPast(2 * kLeaseSeconds))
      return isTaken(*kept);
    if (result.ok() && isIn)
      result = readRoll(&roll);
    proto::Texts texts;
    // One without this process is an older run's.
    if (roll && texts.ParseFromString(*roll) &&
        std::count(texts.text().begin(), texts.text().end(), own) == 1)
      return readMembers(*roll);
    if (result.ok() && isIn)
      result = list(folder(kPresent), true, &present);
    if (!result.ok())
      return storeFails(result);
    // By the chief alone: one that is gone closes none.
    if (self == chief && present.size() == numbers.size())
      return closeRoll(present);
    std::vector<int> missing;
    for (int member = 0; member < int(numbers.size()); ++member)
      if (isIn && !present.count(member))
        missing.push_back(member);
    if (missing.empty())
      missing.push_back(kept ? self : chief);
    DIST_RETURN_IF_ERROR(wait(missing));
  }
}

} // namespace dist::cluster
