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
    beginRenewal();
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
    if (Status status = wait({chief}, ""); !status.ok())
      return Status::error(
          status.code(), status.message(), "",
          result.message + (options.secret
                                ? ""
                                : " (a chief that has a secret answers those "
                                  "alone that have it, too)"));
    client->waitForConnection(kLongestPause.count());
  }
  beginRenewal();
  std::optional<std::string> roll;
  result = readRoll(&roll);
  if (!result.ok())
    return chiefIsGone(result);
  bool isOver = false;
  if (roll && options.isElastic)
    return waitUntilTakenIn(&isOver);
  if (roll && mayTakePlace())
    return beBack(*roll);
  DIST_RETURN_IF_ERROR(enter());
  return callRoll();
}

/// One round of `waitUntilTakenIn`: `roll` is that of an epoch that it has
/// `entered`, `others` are the present epoch's.
Status Membership::Impl::seekEntry(int *entered, bool *isOver,
                                   std::optional<std::string> *roll,
                                   std::map<int, std::string> *others) {
  std::string now = run;
  std::optional<std::string> kept;
  int present = 0, next = 0;
  StoreResult result = options.store ? readRun(&now) : StoreResult();
  *isOver = result.ok() && now != run;
  if (*isOver)
    return Status();
  if (result.ok())
    result = readNumber(kEpoch, &present);
  if (result.ok())
    result = listNumbers(folderOf(root, present, kPresent), true, others);
  // Its own, of an epoch whose roll was closed before it had come.
  if (auto own = others->find(numbers[self]);
      own != others->end() && own->second == describeSelf())
    others->erase(own);
  const bool isFree = others->count(numbers[self]) == 0;
  if (result.ok() && *entered < 0 && isFree)
    result = putFirst(newcomersKey(), std::to_string(around.process()),
                      /*leased=*/true, &kept);
  if (result.ok())
    result = readNumber(kNext, &next);
  *isOver = options.store && result.code == StoreCode::FailedPrecondition;
  if (*isOver)
    return Status();
  if (result.ok() && isFree && next > std::max(*entered, present)) {
    epoch = *entered = next;
    DIST_RETURN_IF_ERROR(enter());
  }
  if (result.ok() && *entered >= 0)
    result = readRoll(roll);
  return result.ok() ? Status() : chiefIsGone(result);
}

/// Waits until those who have met without this process meet again.
Status Membership::Impl::waitUntilTakenIn(bool *isOver) {
  int entered = -1; // the newest epoch in which it is present
  bool isTold = !options.note;
  for (beginWait();; pauseUntilChange(kLongestPause)) {
    std::optional<std::string> roll;
    std::map<int, std::string> others;
    DIST_RETURN_IF_ERROR(seekEntry(&entered, isOver, &roll, &others));
    // Its last roll may have this process, which is none of another's then.
    if (*isOver && entered >= 0)
      return storeFails(runIsOver());
    if (*isOver)
      return Status();
    if (roll && isIn(*roll)) {
      takeBack(newcomersKey(), std::to_string(around.process()));
      return readMembers(*roll);
    }
    // One that is gone is so for the store, too, when its lease is over.
    auto other = others.find(numbers[self]);
    if (entered < 0 && other != others.end() && isPast(2 * kLeaseSeconds))
      return isTaken(other->second);
    std::chrono::duration<double> waited = around.now() - begin;
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

void Membership::Impl::takeBack(const std::string &key,
                                const std::string &value) {
  TxnRequest request;
  compareValue(key, value, &request);
  addDelete(key, &request);
  TxnResponse response;
  (void)client->txn(request, &response); // its lease would do so
  std::lock_guard<std::mutex> guard(duty);
  told.erase(key);
}

std::string Membership::Impl::wasEvictedIn(int epoch) {
  return "it was evicted in the cluster's epoch " + std::to_string(epoch) +
         ": it came too late, or was given up";
}

/// Whether a roll has this process; an older run's has not.
bool Membership::Impl::isIn(const std::string &roll) const {
  proto::Texts texts;
  const std::string own = describeSelf();
  return texts.ParseFromString(roll) &&
         std::count(texts.text().begin(), texts.text().end(), own) == 1;
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
  auto put = [&] {
    return putFirst(keyOf(kPresent, self), describeSelf(), /*leased=*/true,
                    &kept);
  };
  StoreResult result = put();
  if (leads && isDeposed(result))
    result = put();
  // It has ended since it was mended, or could not be asked for then.
  if (result.code == StoreCode::NotFound) {
    DIST_RETURN_IF_ERROR(grantLease(&lease));
    result = put();
  }
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
  return readText(folder(kRoll), roll);
}

StoreResult
Membership::Impl::closeRoll(const std::map<int, std::string> &present,
                            std::string *roll) {
  proto::Texts texts;
  auto chief = leads ? present.find(numbers[self]) : present.end();
  if (chief != present.end())
    texts.add_text(chief->second);
  for (auto one = present.begin(); one != present.end(); ++one)
    if (one != chief)
      texts.add_text(one->second);
  *roll = texts.SerializeAsString();
  std::optional<std::string> kept;
  Texts more = {{root + kEpoch, std::to_string(epoch)}};
  // It outlives its chief from now on.
  if (options.store)
    more.emplace_back(runKey(), run);
  StoreResult result =
      putFirst(folder(kRoll), *roll, /*leased=*/false, &kept, more);
  *roll = kept.value_or(*roll);
  return result;
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
    if (present.size() == numbers.size()) {
      std::string closed;
      result = closeRoll(present, &closed);
      return result.ok() ? readMembers(closed) : chiefIsGone(result);
    }
    std::vector<int> missing;
    for (int member = 0; member < int(numbers.size()); ++member)
      if (!present.count(member))
        missing.push_back(member);
    DIST_RETURN_IF_ERROR(wait(missing, folder(kPresent)));
  }
}

StoreResult Membership::Impl::findComers(const std::vector<int> &lost,
                                         std::map<int, std::string> *present,
                                         bool *areThere) {
  std::map<int, std::string> newcomers;
  StoreResult result = listNumbers(root + kNewcomers, false, &newcomers);
  if (result.ok())
    result = listNumbers(folder(kPresent), true, present);
  *areThere = true;
  for (int member = 0; member < int(numbers.size()); ++member) {
    auto found = present->find(numbers[member]);
    const bool isLost = std::count(lost.begin(), lost.end(), member) > 0;
    *areThere &= found != present->end() || isLost || gone.count(member) > 0;
    // It has come, and was lost then, or is cut off from this process, and not
    // from the store. One that was started again has another text there.
    if (isLost && found != present->end() &&
        found->second == rollTexts[numbers[member]])
      present->erase(found);
  }
  for (auto &[number, value] : newcomers)
    *areThere &= present->count(number) > 0;
  return result;
}

/// The roll of an epoch but the first, which the chief closes when those that
/// it does not know to be lost have come, or have had the time.
Status Membership::Impl::callAgain(const RegroupOptions &regrouping) {
  std::vector<int> lost;
  // What is told elsewhere than in the store, and by the clock.
  auto isDue = [&] {
    return isPast(regrouping.timeout) || (options.store && !leads) ||
           regrouping.lost() != lost;
  };
  // Who has come is for the chief, which closes the roll.
  auto awaited = [&] { return Awaited{leads ? "" : folder(kPresent), {}}; };
  beginWait();
  for (chiefSince = begin;;
       pauseUntilChange(kShortestPause, awaited(), isDue)) {
    // Others have noticed later than the chief that there is something to do;
    // and one that has become the chief meanwhile has as long.
    const std::chrono::duration<double> patience(regrouping.timeout *
                                                 (leads ? 1 : 3));
    const bool isLate = around.now() - (leads ? begin : chiefSince) > patience;
    std::optional<std::string> closed;
    std::string roll;
    StoreResult result = readRoll(&closed);
    if (closed)
      return readMembers(*closed);
    lost = regrouping.lost();
    std::vector<int> away = lost;
    away.insert(away.end(), gone.begin(), gone.end());
    if (result.ok() && options.store && !leads)
      result = elect(regrouping, away);
    std::map<int, std::string> present;
    bool areThere = false;
    if (result.ok() && leads)
      result = findComers(lost, &present, &areThere);
    const bool isClosing = result.ok() && leads && (areThere || isLate);
    // A roll without members tells the others that it is over.
    if (isClosing && int(present.size()) < regrouping.fewest)
      present.clear();
    if (isClosing)
      result = closeRoll(present, &roll);
    if (isClosing && isDeposed(result))
      continue;
    if (!result.ok())
      return chiefIsGone(result);
    if (isClosing)
      return readMembers(roll);
    if (isLate && !leads)
      return Status::error(StatusCode::Unavailable,
                           "the cluster does not go on", where(chief),
                           "it has not said who is left", "look there why");
  }
}

Status Membership::Impl::readMembers(const std::string &roll, bool isMember) {
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
  rollTexts.clear();
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
    rollTexts[told.number()] = text;
    auto known = std::find(hosts.begin(), hosts.end(), told.host());
    member.host = int(known - hosts.begin());
    if (known == hosts.end())
      hosts.push_back(told.host());
    member.hostName = told.name();
    member.process = told.process();
    member.cpus = told.cpus();
    members.push_back(std::move(member));
  }
  // Each once: the chief, and the others in their order.
  isSound = isSound && rollTexts.size() == entered.size() &&
            std::is_sorted(entered.begin() + 1, entered.end()) &&
            (epoch > 0 || entered.size() == all.size());
  if (!isSound)
    return foundForeign(folder(kRoll));
  // Another process may have its task by now.
  if (place < 0 && isMember)
    return Status::error(StatusCode::Unavailable,
                         "the cluster goes on without this process",
                         where(self), wasEvictedIn(epoch), "");
  if (isMember)
    self = place;
  closedRoll = roll;
  closedEpoch = epoch;
  gone.clear();
  leads &= self == chief;
  keepsRun = options.store && options.isElastic && isMember && epoch > 0;
  numbers = entered;
  return Status();
}

} // namespace dist::cluster
