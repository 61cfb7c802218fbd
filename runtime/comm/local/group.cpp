//===- group.cpp - Ranks of one process that meet -------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/group.h"
#include "runtime/comm/local/mailbox.h"
#include "runtime/comm/local/patience.h"
#include <cstdio>

namespace dist::local {

Shared::Shared() = default;
Shared::~Shared() = default;

void Shared::abort(const std::string &why) {
  {
    std::lock_guard<std::mutex> lock(reasonMutex);
    if (aborted.load())
      return;
    reason = why;
    aborted.store(true);
  }
  for (auto &group : groups)
    group->wait.notify();
  for (auto &mailbox : mailboxes)
    mailbox->wait.notify();
}

std::string Shared::withinTimeout() const {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "within %g s", options.timeout);
  return seconds;
}

Status Shared::fail(StatusCode code, int rank, const Call &call,
                    const std::string &why, const std::string &todo) {
  Status status = Status::error(code, std::string(name(call.kind)) + " failed",
                                opName(rank, call.op), why, todo);
  abort(status.message());
  return status;
}

Status Shared::abortedStatus(int rank, const Call &call) {
  std::lock_guard<std::mutex> lock(reasonMutex);
  return Status::error(StatusCode::Unavailable,
                       std::string(name(call.kind)) + " was given up",
                       opName(rank, call.op), reason);
}

Status Shared::waitForOthers(const Place &place, const Call &call) {
  Group &group = *place.group;
  auto arrived = [&](int member) {
    return group.slots[member].arrived.load() >= place.phase;
  };
  auto allArrived = [&] {
    for (int i = 0; i < place.size(); ++i)
      if (!arrived(i))
        return false;
    return true;
  };
  // Nobody has anything to do before the last one comes: who arrives before it
  // wakes nobody.
  if (allArrived()) {
    group.wait.notify();
    return Status();
  }
  auto ready = [&] { return aborted.load() || allArrived(); };
  auto anyArrived = [&] {
    for (int i = 0; i < place.size(); ++i)
      if (i != place.index && arrived(i))
        return true;
    return false;
  };
  int spin = place.spinMicroseconds;
  if (call.betweenPrograms && !place.patient && !arrived(place.size() - 1))
    spin = std::min(spin, options.spinForHostMicroseconds);
  Patience patience(*this, place, call);
  while (!patience.wait(group.wait, ready, spin)) {
    // The host's time begins with the first one that comes, which shows as
    // that one's progress.
    if (!place.patient || anyArrived())
      return patience.timedOut();
    patience.restart();
  }
  return Status();
}

Status Shared::arrive(Place &place, const Call &call) {
  place.group->slots[place.index].arrived.store(place.phase);
  DIST_RETURN_IF_ERROR(waitForOthers(place, call));
  if (aborted.load())
    return abortedStatus(place.rank(), call);
  for (int i = 0; i < place.size(); ++i)
    if (!(place.published(i).call == call))
      return mismatch(place, call, i);
  return Status();
}

Status Shared::mismatch(const Place &place, const Call &call, int member) {
  auto text = [&](const Call &call, int index) {
    int rank = place.group->members[index];
    return std::string(name(call.kind)) + " of " + opName(rank, call.op) +
           " with " + std::to_string(call.count) + " elements on rank " +
           std::to_string(rank);
  };
  return fail(StatusCode::Internal, place.rank(), call,
              "ranks are at different collectives: " + text(call, place.index) +
                  ", " + text(place.published(member).call, member),
              "recompile the package");
}

} // namespace dist::local
