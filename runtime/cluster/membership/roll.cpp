//===- roll.cpp - Who the members of a cluster are --------------------- ===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/membership_impl.h"
#include "runtime/cluster/membership/member.pb.h"
#include "runtime/core/process_space.h"
#include <algorithm>
#include <unistd.h>

using namespace etcdserverpb;

namespace dist::cluster {

static constexpr size_t kNonceBytes = 8;

static std::string nameHost() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

/// Waits for the store to be there, and enters this process.
Status Membership::Impl::registerSelf() {
  // Without it a process that a container starts anew would look the same.
  DIST_RETURN_IF_ERROR(around.randomBytes(kNonceBytes, &nonce));
  if (options.store) {
    DIST_RETURN_IF_ERROR(grantLease(&lease));
    DIST_RETURN_IF_ERROR(grantLease(&keptLease));
    renewal = around.repeat(kRenewal, [this] { renew(); });
    return enterRun();
  }
  beginWait();
  StoreResult result;
  while (true) {
    LeaseGrantRequest request;
    request.set_ttl(kLeaseSeconds);
    LeaseGrantResponse response;
    result = client->leaseGrant(request, &response);
    if (result.ok()) {
      lease = response.id();
      break;
    }
    if (result.code == StoreCode::Unauthenticated)
      return refuseSecret("the chief", where(chief),
                          options.secret.has_value());
    if (Status status = wait({chief}); !status.ok())
      return Status::error(
          status.code(), status.message(), "",
          result.message + (options.secret
                                ? ""
                                : " (a chief that has a secret answers those "
                                  "alone that have it, too)"));
    client->waitForConnection(kLongestPause.count());
  }
  renewal = around.repeat(kRenewal, [this] { renew(); });
  std::optional<std::string> roll;
  result = readRoll(&roll);
  if (!result.ok())
    return chiefIsGone(result);
  if (roll && options.isElastic)
    return enterLate();
  DIST_RETURN_IF_ERROR(enter());
  return callRoll();
}

/// Waits until those who have met without this process meet again.
Status Membership::Impl::enterLate() {
  int entered = -1; // the newest epoch in which it is present
  auto waitsAs = [&] { return kNewcomers + std::to_string(self); };
  bool isTold = !options.note;
  for (beginWait();; around.sleep(kLongestPause)) {
    int present = 0, next = 0;
    StoreResult result = readNumber(kEpoch, &present);
    std::map<int, std::string> others;
    if (result.ok())
      result = listNumbers(folderOf(kRoot, present, kPresent), true, &others);
    if (result.ok() && entered < 0 && others.count(self) == 0) {
      std::optional<std::string> kept;
      result = putFirst(waitsAs(), std::to_string(around.process()),
                        /*leased=*/true, &kept);
    }
    if (result.ok())
      result = readNumber(kNext, &next);
    if (!result.ok())
      return chiefIsGone(result);
    if (next > std::max(entered, present) && others.count(self) == 0) {
      epoch = entered = next;
      DIST_RETURN_IF_ERROR(enter());
    }
    std::optional<std::string> roll;
    if (entered >= 0)
      result = readRoll(&roll);
    if (!result.ok())
      return chiefIsGone(result);
    if (roll) {
      DeleteRangeRequest request;
      request.set_key(waitsAs());
      DeleteRangeResponse response;
      (void)client->deleteRange(request, &response); // its lease would do so
      return readMembers(*roll);
    }
    std::chrono::duration<double> waited = around.now() - begin;
    // One that is gone is so for the store, too, when its lease is over.
    if (entered < 0 && !others.empty() && others.count(self) > 0 &&
        waited.count() > 2 * kLeaseSeconds)
      return isTaken(others[self]);
    if (options.timeout > 0 && waited.count() > options.timeout)
      return Status::error(StatusCode::Unavailable,
                           "the cluster does not take this process in",
                           "--start-timeout", where(self) + " came late",
                           "look at the chief, whether its run goes on");
    if (!isTold)
      options.note("the others have begun: waiting until they take " +
                   taskOf(self).text() + " in");
    isTold = true;
  }
}

std::string Membership::Impl::describeSelf() const {
  proto::Member member;
  member.set_host(networkSpace());
  member.set_name(nameHost());
  member.set_process(around.process());
  member.set_cpus(options.cpus);
  member.set_number(numbers[self]);
  member.set_nonce(nonce);
  return member.SerializeAsString();
}

/// Says in this epoch that the process is there.
Status Membership::Impl::enter() {
  std::optional<std::string> kept;
  StoreResult result = putFirst(keyOf(kPresent, self), describeSelf(),
                                /*leased=*/true, &kept);
  if (!result.ok())
    return chiefIsGone(result);
  if (!kept)
    return Status();
  return isTaken(*kept);
}

Status Membership::Impl::isTaken(const std::string &by) const {
  proto::Member other;
  (void)other.ParseFromString(by);
  return Status::error(
      StatusCode::InvalidInput, "the task is another process's already",
      taskOf(self).text(),
      "process " + std::to_string(other.process()) + " on " +
          inQuotes(other.name()) + " has joined as it",
      "give this one another index, or end that one (one that was killed is "
      "forgotten after " +
          std::to_string(kLeaseSeconds) + " s)");
}

StoreResult Membership::Impl::readRoll(std::optional<std::string> *roll) {
  RangeRequest request;
  request.set_key(folder(kRoll));
  RangeResponse response;
  StoreResult result = call([&] { return client->range(request, &response); });
  roll->reset();
  if (result.ok() && response.kvs_size() > 0)
    *roll = response.kvs(0).value();
  return result;
}

/// Makes them the members, unless another roll was closed before.
Status Membership::Impl::closeRoll(const std::map<int, std::string> &present) {
  proto::Texts roll;
  for (auto &[number, value] : present)
    roll.add_text(value);
  std::string own = roll.SerializeAsString();
  std::optional<std::string> kept;
  StoreResult result = putFirst(folder(kRoll), own, /*leased=*/false, &kept);
  return result.ok() ? readMembers(kept.value_or(own)) : chiefIsGone(result);
}

Status Membership::Impl::callRoll() {
  for (beginWait();;) {
    std::map<int, std::string> present;
    std::optional<std::string> roll;
    StoreResult result = readRoll(&roll);
    if (roll)
      return readMembers(*roll);
    if (result.ok())
      result = list(folder(kPresent), true, &present);
    if (!result.ok())
      return chiefIsGone(result);
    if (present.size() == numbers.size())
      return closeRoll(present);
    std::vector<int> missing;
    for (int member = 0; member < int(numbers.size()); ++member)
      if (!present.count(member))
        missing.push_back(member);
    DIST_RETURN_IF_ERROR(wait(missing));
  }
}

/// The roll of an epoch but the first, which the chief closes when those that
/// it does not know to be lost have come, or have had the time.
Status Membership::Impl::callAgain(const RegroupOptions &regrouping) {
  // Others have noticed later than the chief that there is something to do.
  const double patience = regrouping.timeout * (self == chief ? 1 : 3);
  for (beginWait();;) {
    bool isLate =
        around.now() - begin > std::chrono::duration<double>(patience);
    std::map<int, std::string> present;
    std::optional<std::string> roll;
    StoreResult result = readRoll(&roll);
    if (roll)
      return readMembers(*roll);
    std::map<int, std::string> newcomers;
    if (result.ok() && self == chief)
      result = listNumbers(kNewcomers, false, &newcomers);
    if (result.ok() && self == chief)
      result = listNumbers(folder(kPresent), true, &present);
    if (!result.ok())
      return chiefIsGone(result);
    std::vector<int> lost;
    if (self == chief)
      lost = regrouping.lost();
    bool areThere = true;
    for (int member = 0; member < int(numbers.size()); ++member)
      areThere &= present.count(numbers[member]) > 0 ||
                  std::count(lost.begin(), lost.end(), member) > 0;
    for (auto &[number, value] : newcomers)
      areThere &= present.count(number) > 0;
    if (self == chief && (areThere || isLate)) {
      // A roll without members tells the others that it is over.
      if (int(present.size()) < regrouping.fewest)
        present.clear();
      return closeRoll(present);
    }
    if (isLate)
      return Status::error(StatusCode::Unavailable,
                           "the cluster does not go on", where(chief),
                           "it has not said who is left", "look there why");
    around.sleep(kShortestPause);
  }
}

Status Membership::Impl::readMembers(const std::string &roll) {
  proto::Texts texts;
  bool isSound = texts.ParseFromString(roll);
  if (isSound && texts.text_size() == 0)
    return Status::error(StatusCode::Unavailable,
                         "fewer workers are left than are to go on",
                         "--min-workers", "", "start those that are missing");
  std::vector<int> entered;
  const std::string own = describeSelf();
  int place = -1; // this process's
  std::vector<std::string> hosts;
  members.clear();
  for (const std::string &text : texts.text()) {
    proto::Member told;
    isSound = isSound && told.ParseFromString(text) && told.number() >= 0 &&
              told.number() < int(all.size());
    if (!isSound)
      break;
    Member member;
    member.task = all[told.number()];
    if (text == own)
      place = int(entered.size());
    entered.push_back(told.number());
    auto known = std::find(hosts.begin(), hosts.end(), told.host());
    member.host = int(known - hosts.begin());
    if (known == hosts.end())
      hosts.push_back(told.host());
    member.hostName = told.name();
    member.process = told.process();
    member.cpus = told.cpus();
    members.push_back(std::move(member));
  }
  // Each once, in their order.
  isSound =
      isSound && std::is_sorted(entered.begin(), entered.end()) &&
      std::adjacent_find(entered.begin(), entered.end()) == entered.end() &&
      (epoch > 0 || entered.size() == all.size());
  if (!isSound)
    return foundForeign(folder(kRoll));
  // Another process may have its task by now.
  if (place < 0)
    return Status::error(StatusCode::Unavailable,
                         "the cluster goes on without this process",
                         where(self), "it came too late, or was given up", "");
  self = place;
  numbers = entered;
  return Status();
}

} // namespace dist::cluster
