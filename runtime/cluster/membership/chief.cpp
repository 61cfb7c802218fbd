//===- chief.cpp - Who is the chief of a run in a shared store ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first is the job's first task. When it is lost those that are left meet
// for the next epoch, and one of them takes its place: it replaces the key that
// names the chief, if that still names the one before and the epoch's roll is
// not closed, and puts what must outlive the run's former chief under its own
// lease. Of several that try it one succeeds. A chief that was only frozen, or
// cut off, then closes no roll and begins no epoch: each of its transactions
// compares that key.
//
// That key goes with its chief's lease; what tells of the run itself is kept
// under a lease that every member renews once they are at work. So a chief may
// be lost before the others watch it: the end of its lease tells them, and not
// that the run is over. A chief that leaves ends the run by its own hand.
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/member.pb.h"
#include "runtime/cluster/membership/membership_impl.h"
#include <algorithm>

using namespace etcdserverpb;

namespace dist::cluster {

std::string chiefKey(const Address &chief) {
  return kRoot + std::string("chiefs/") + chief.text();
}

std::string Membership::Impl::describeChief() const {
  proto::Chief chief;
  chief.set_number(numbers[self]);
  chief.set_address(options.spec.find(taskOf(self))->text());
  chief.set_nonce(nonce);
  return chief.SerializeAsString();
}

Texts Membership::Impl::chiefsKeys(const std::string &root) const {
  Texts keys = {{root + kChief, describeChief()}};
  // For who asks by a chief's address: the first one's stays one.
  const std::string first = chiefKey(*options.spec.find(all.front()));
  const std::string own = chiefKey(*options.spec.find(taskOf(self)));
  keys.emplace_back(first, root);
  if (own != first)
    keys.emplace_back(own, root);
  return keys;
}

/// `number`: of its task; -1: there is none.
StoreResult Membership::Impl::readChief(std::optional<std::string> *text,
                                        int *number) {
  StoreResult result = readText(root + kChief, text);
  proto::Chief chief;
  *number = *text && chief.ParseFromString(**text) ? chief.number() : -1;
  return result;
}

/// A chief whose lease has ended while the store was away is registered anew
/// within that time.
static constexpr milliseconds kAnew = kRenewal + 2 * kRound;

StoreResult Membership::Impl::elect(const RegroupOptions &regrouping,
                                    const std::vector<int> &lost) {
  std::optional<std::string> present;
  int number = -1;
  StoreResult result = readChief(&present, &number);
  if (!result.ok())
    return result;
  if (std::string now; !present) {
    result = readRun(&now);
    if (!result.ok() || now != run)
      return result.ok() ? runIsOver() : result;
  }
  if (present != seenChief)
    chiefSince = around.now();
  seenChief = present;
  auto isLost = [&](int member) {
    return std::count(lost.begin(), lost.end(), member) > 0;
  };
  int before = 0; // whose turn it is
  bool isChiefLost = !present && around.now() - chiefSince > kAnew;
  for (int member = 0; member < int(numbers.size()); ++member) {
    isChiefLost |= numbers[member] == number && isLost(member);
    before += numbers[member] < numbers[self] && !isLost(member);
  }
  // They may be lost, too, without a chief to tell of it.
  const std::chrono::duration<double> turn(before * regrouping.turn);
  if (!isChiefLost || around.now() - begin < turn)
    return {};
  return takeOver(present);
}

StoreResult
Membership::Impl::takeOver(const std::optional<std::string> &before) {
  TxnRequest request;
  fence(&request);
  before ? compareValue(root + kChief, *before, &request)
         : compareMissing(root + kChief, &request);
  compareMissing(folder(kRoll), &request);
  // The roll of an epoch that is over goes with who has closed it: one that has
  // slept since would take it for an open one.
  compareValue(root + kEpoch, std::to_string(epoch - 1), &request);
  addPut(runKey(), run, keptLease, &request);
  addPut(root + kEpoch, std::to_string(epoch - 1), keptLease, &request);
  addPut(root + kNext, std::to_string(epoch), keptLease, &request);
  for (auto &[key, value] : chiefsKeys(root))
    addPut(key, value, lease, &request);
  TxnResponse response;
  StoreResult result = call([&] { return client->txn(request, &response); });
  leads = result.ok() && response.succeeded();
  if (!result.ok() || leads)
    return result;
  // By another one; or an earlier try's answer was lost.
  std::optional<std::string> present;
  int number = -1;
  result = readChief(&present, &number);
  leads = present && *present == describeChief();
  return result;
}

void Membership::Impl::endRun() {
  TxnRequest request;
  fence(&request);
  for (auto &[key, value] : chiefsKeys(root))
    addDelete(key, &request);
  addDelete(runKey(), &request);
  TxnResponse response;
  (void)leases->txn(request, &response); // the leases' ends would do so
}

} // namespace dist::cluster
