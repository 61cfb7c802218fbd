//===- returns.cpp - Processes that take lost ones' places ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A worker that comes when the roll is closed puts what it has to say under its
// task's number, and waits for the chief's answer to that. The chief's thread
// of the leases looks for such, and brings the answers: training waits for no
// store.
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/member.pb.h"
#include "runtime/cluster/membership/membership_impl.h"

using namespace etcdserverpb;

namespace dist::cluster {

static constexpr size_t kIdBytes = 8;

/// By number: what who has come is told.
static constexpr char kAnswered[] = "answered/";

bool Membership::isBack() const { return impl->isBack; }

Status Membership::beBack() {
  Impl &own = *impl;
  own.beginMeeting();
  own.lastCall = own.around.now();
  // It may have slept for longer than its leases last.
  Status status = own.mendLeases();
  if (status.ok())
    status = own.beBack(own.closedRoll);
  own.endMeeting();
  return status;
}

bool Membership::Impl::mayTakePlace() const {
  return options.takesWorkersBack && taskOf(self).job == Job::Worker;
}

/// It becomes a member behind those of the roll, as far as it knows.
Status Membership::Impl::beBack(const std::string &roll) {
  const int own = numbers[self];
  DIST_RETURN_IF_ERROR(readMembers(roll, /*isMember=*/false));
  Member member;
  member.task = all[own];
  member.process = around.process();
  member.cpus = options.cpus;
  members.push_back(std::move(member));
  numbers.push_back(own);
  self = int(numbers.size()) - 1;
  isBack = true;
  return Status();
}

Status Membership::Impl::readOf(int member, const std::string &what,
                                bool *isThere,
                                std::vector<std::string> *texts) {
  std::optional<std::string> value;
  lastCall = around.now(); // what it did since the one before was no sleep
  StoreResult result = readText(keyOf(what, member), &value);
  proto::Texts told;
  if (!result.ok())
    return chiefIsGone(result);
  *isThere = value && told.ParseFromString(*value);
  texts->clear();
  if (*isThere)
    texts->assign(told.text().begin(), told.text().end());
  return Status();
}

Status Membership::Impl::readOfChief(const std::string &what,
                                     std::vector<std::string> *texts) {
  bool isThere = false;
  DIST_RETURN_IF_ERROR(readOf(chief, what, &isThere, texts));
  return isThere ? Status()
                 : Status::error(StatusCode::Unavailable,
                                 "the others have not begun yet", where(chief),
                                 "its " + what + " is not in the store",
                                 "start this process again");
}

Status Membership::readOfChief(const std::string &what,
                               std::vector<std::string> *texts) {
  return impl->readOfChief(what, texts);
}

Status Membership::readOf(int member, const std::string &what,
                          std::vector<std::string> *texts) {
  bool isThere = false;
  return impl->readOf(member, what, &isThere, texts);
}

/// Its own place, once the chief has released an earlier process, or that one's
/// lease is over.
Status Membership::Impl::putReturn(const std::string &value) {
  const std::string key = root + kBack + std::to_string(numbers[self]);
  for (beginWait();; pauseUntilChange(kLongestPause)) {
    std::optional<std::string> kept;
    StoreResult result = putFirst(key, value, /*leased=*/true, &kept);
    if (!result.ok())
      return chiefIsGone(result);
    proto::Return other;
    if (!kept)
      return Status();
    (void)other.ParseFromString(*kept);
    // It was back before.
    if (other.member() == describeSelf())
      takeBack(key, *kept);
    else if (isPast(2 * kLeaseSeconds))
      return isTaken(other.member());
  }
}

Status Membership::Impl::takePlace(const std::string &text,
                                   std::string *answer) {
  proto::Return own;
  std::string id;
  DIST_RETURN_IF_ERROR(around.randomBytes(kIdBytes, &id));
  own.set_id(id);
  own.set_text(text);
  own.set_member(describeSelf());
  DIST_RETURN_IF_ERROR(putReturn(own.SerializeAsString()));
  const std::string key = root + kAnswered + std::to_string(numbers[self]);
  bool isTold = !options.note;
  for (beginWait();; pauseUntilChange(kLongestPause)) {
    std::optional<std::string> value;
    std::string now = run;
    StoreResult result = readText(key, &value);
    if (result.ok() && options.store)
      result = readRun(&now);
    if (result.ok() && now != run)
      result = runIsOver();
    if (!result.ok())
      return chiefIsGone(result);
    proto::Return told;
    if (value && told.ParseFromString(*value) && told.id() == id) {
      *answer = told.text();
      return Status();
    }
    if (options.timeout > 0 && isPast(options.timeout))
      return Status::error(
          StatusCode::Unavailable, "the cluster does not take this process in",
          "--start-timeout",
          where(self) + " is not lost, as far as the chief knows",
          "give this one another index, or look at the chief, whether its run "
          "goes on");
    if (!isTold)
      options.note("the others have begun: waiting until they take " +
                   taskOf(self).text() + " in");
    isTold = true;
  }
}

Status Membership::takePlace(const std::string &text, std::string *answer) {
  return impl->takePlace(text, answer);
}

std::vector<Comer> Membership::comers() const {
  std::lock_guard<std::mutex> guard(impl->duty);
  return impl->comers;
}

void Membership::answer(const Comer &comer, const std::string &text) {
  for (int number = 0; number < int(impl->all.size()); ++number) {
    if (!(impl->all[number] == comer.task))
      continue;
    proto::Return told;
    told.set_id(comer.id);
    told.set_text(text);
    std::lock_guard<std::mutex> guard(impl->duty);
    impl->answers[impl->root + kAnswered + std::to_string(number)] =
        told.SerializeAsString();
  }
}

void Membership::release(const Comer &comer) {
  for (int number = 0; number < int(impl->all.size()); ++number) {
    if (!(impl->all[number] == comer.task))
      continue;
    std::lock_guard<std::mutex> guard(impl->duty);
    impl->released[impl->root + kBack + std::to_string(number)] = comer.told;
  }
}

void Membership::Impl::serveReturns() {
  RangeRequest request;
  std::map<std::string, std::string> telling, releasing;
  {
    std::lock_guard<std::mutex> guard(duty);
    if (isMeeting || !leads)
      return;
    request = rangeOf(root + kBack);
    telling = answers;
    releasing = released;
  }
  RangeResponse response;
  std::map<int, std::string> come;
  if (!leases->range(request, &response).ok())
    return;
  takeNumbers(response, request.key(), &come);
  std::vector<Comer> found;
  for (auto &[number, value] : come)
    if (proto::Return one; one.ParseFromString(value)) {
      proto::Member member;
      (void)member.ParseFromString(one.member());
      found.push_back({all[number], one.id(), one.text(), member.name(),
                       member.process(), value});
    }
  for (auto &[key, value] : telling) {
    TxnRequest put;
    if (!run.empty())
      fence(&put);
    addPut(key, value, options.store ? lease.load() : 0, &put);
    TxnResponse done;
    if (!leases->txn(put, &done).ok() || !done.succeeded())
      value.clear(); // until the next time
  }
  for (auto &[key, value] : releasing) {
    TxnRequest remove;
    if (!run.empty())
      fence(&remove);
    compareValue(key, value, &remove);
    addDelete(key, &remove);
    TxnResponse done;
    if (!leases->txn(remove, &done).ok())
      value.clear(); // until the next time
  }
  std::lock_guard<std::mutex> guard(duty);
  comers = std::move(found);
  auto forget = [](std::map<std::string, std::string> &all,
                   const std::map<std::string, std::string> &done) {
    for (auto &[key, value] : done)
      if (auto one = all.find(key); one != all.end() && one->second == value)
        all.erase(one);
  };
  forget(answers, telling);
  forget(released, releasing);
}

} // namespace dist::cluster
