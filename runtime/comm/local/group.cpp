//===- group.cpp - Ranks of one process that meet -------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/group.h"
#include "runtime/comm/local/mailbox.h"
#include "runtime/comm/local/patience.h"

namespace dist::local {

Shared::Shared() = default;
Shared::~Shared() = default;

void Shared::abort(uint32_t of, const std::string &why) {
  {
    std::lock_guard<std::mutex> lock(reasonMutex);
    if (aborted.load() || of != generation.load())
      return;
    reason = why;
    aborted.store(true);
  }
  for (auto &group : groups)
    group->wait.notify();
  for (auto &mailbox : mailboxes)
    mailbox->wait.notify();
}

Status Shared::fail(StatusCode code, int rank, const Call &call,
                    const std::string &why, const std::string &todo) {
  Status status = Status::error(code, std::string(name(call.kind)) + " failed",
                                opName(options, rank, call.op), why, todo);
  abort(generation.load(), status.message());
  return status;
}

Status Shared::abortedStatus(int rank, const Call &call) {
  std::lock_guard<std::mutex> lock(reasonMutex);
  return Status::error(StatusCode::Unavailable,
                       std::string(name(call.kind)) + " was given up",
                       opName(options, rank, call.op), reason);
}

Status Shared::waitForOthers(const Membership &membership, const Call &call) {
  Group &group = *membership.group;
  auto arrived = [&](int member) {
    return group.slots[member].arrived.load() >= membership.phase;
  };
  auto allArrived = [&] {
    for (int i = 0; i < membership.size(); ++i)
      if (!arrived(i))
        return false;
    return true;
  };
  // None has anything to do before the last one comes: those that arrive before
  // it wake none.
  if (allArrived()) {
    group.wait.notify();
    return Status();
  }
  auto ready = [&] { return aborted.load() || allArrived(); };
  auto anyArrived = [&] {
    for (int i = 0; i < membership.size(); ++i)
      if (i != membership.index && arrived(i))
        return true;
    return false;
  };
  int spin = membership.spinMicroseconds;
  if (call.betweenPrograms && !membership.patient &&
      !arrived(membership.size() - 1))
    spin = std::min(spin, options.spinForHostMicroseconds);
  Patience patience(*this, membership, call);
  while (!patience.wait(group.wait, ready, spin)) {
    // The host's time begins with the first one that comes, which shows as
    // that one's progress.
    if (!membership.patient || anyArrived())
      return patience.timedOut();
    patience.restart();
  }
  return Status();
}

Status Shared::arrive(Membership &membership, const Call &call) {
  membership.group->slots[membership.index].arrived.store(membership.phase);
  DIST_RETURN_IF_ERROR(waitForOthers(membership, call));
  if (aborted.load())
    return abortedStatus(membership.rank(), call);
  for (int i = 0; i < membership.size(); ++i)
    if (!(membership.published(i).call == call))
      return mismatch(membership, call, i);
  return Status();
}

Status Shared::mismatch(const Membership &membership, const Call &call,
                        int member) {
  int rank = membership.rank();
  return fail(StatusCode::Internal, rank, call,
              describeMismatch(options, rank, call,
                               membership.group->members[member],
                               membership.published(member).call),
              "recompile the package");
}

} // namespace dist::local
