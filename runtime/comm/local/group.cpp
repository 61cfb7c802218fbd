//===- group.cpp - Ranks of one process that meet -------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/group.h"
#include "runtime/comm/local/mailbox.h"
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

WaitPoint::Clock::time_point Shared::deadline() const {
  if (options.timeout <= 0)
    return WaitPoint::Clock::time_point::max();
  return WaitPoint::Clock::now() +
         std::chrono::milliseconds(
             static_cast<int64_t>(options.timeout * 1000));
}

std::string Shared::withinTimeout() const {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "within %g s", options.timeout);
  return seconds;
}

Status Shared::fail(StatusCode code, const Call &call, const std::string &why,
                    const std::string &todo) {
  Status status = Status::error(code, std::string(name(call.kind)) + " failed",
                                opName(call.op), why, todo);
  abort(status.message());
  return status;
}

Status Shared::abortedStatus(const Call &call) {
  std::lock_guard<std::mutex> lock(reasonMutex);
  return Status::error(StatusCode::Unavailable,
                       std::string(name(call.kind)) + " was given up",
                       opName(call.op), reason);
}

bool Shared::waitForOthers(const Place &place, const Call &call) {
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
    return true;
  }
  auto ready = [&] { return aborted.load() || allArrived(); };
  // Hence the host looks for the first one from time to time.
  auto anyArrived = [&] {
    for (int i = 0; i < place.size(); ++i)
      if (i != place.index && arrived(i))
        return true;
    return false;
  };
  while (place.patient && !anyArrived())
    if (group.wait.wait(
            ready, WaitPoint::Clock::now() + std::chrono::milliseconds(50), 0))
      return true;
  int spin = place.spinMicroseconds;
  if (call.betweenPrograms && !place.patient && !arrived(place.size() - 1))
    spin = std::min(spin, options.spinForHostMicroseconds);
  return group.wait.wait(ready, deadline(), spin);
}

Status Shared::arrive(Place &place, const Call &call) {
  place.group->slots[place.index].arrived.store(place.phase);
  if (!waitForOthers(place, call))
    return timedOut(place, call);
  if (aborted.load())
    return abortedStatus(call);
  for (int i = 0; i < place.size(); ++i)
    if (!(place.published(i).call == call))
      return mismatch(place, call, i);
  return Status();
}

Status Shared::timedOut(const Place &place, const Call &call) {
  std::string missing;
  int count = 0;
  for (int i = 0; i < place.size(); ++i)
    if (place.group->slots[i].arrived.load() < place.phase)
      missing +=
          (count++ ? ", " : "") + std::to_string(place.group->members[i]);
  return fail(StatusCode::Unavailable, call,
              (count == 1 ? "rank " : "ranks ") + missing + " did not arrive " +
                  withinTimeout(),
              "see why, or raise --collective-timeout");
}

Status Shared::mismatch(const Place &place, const Call &call, int member) {
  auto text = [&](const Call &call, int index) {
    return std::string(name(call.kind)) + " of " + opName(call.op) + " with " +
           std::to_string(call.count) + " elements on rank " +
           std::to_string(place.group->members[index]);
  };
  return fail(StatusCode::Internal, call,
              "ranks are at different collectives: " + text(call, place.index) +
                  ", " + text(place.published(member).call, member),
              "recompile the package");
}

} // namespace dist::local
