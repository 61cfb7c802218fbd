//===- monitor.cpp - What the chief knows of a cluster at work ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/heartbeat/monitor.h"
#include <cstdio>
#include <utility>

namespace dist::cluster {

/// Steps that a rate is of, and seconds that are enough for one.
static constexpr size_t kMostSteps = 4096;
static constexpr double kRateSeconds = 5;

std::string MemberName::text() const {
  return task + (address.empty() ? "" : " at " + address) + " (process " +
         std::to_string(process) + ")";
}

const char *textOf(SlowReason reason) {
  switch (reason) {
  case proto::ClusterStatus::COMPUTE:
    return "compute";
  case proto::ClusterStatus::INPUT:
    return "input";
  case proto::ClusterStatus::NETWORK:
    return "network";
  default:
    return "none";
  }
}

Monitor::Monitor(std::vector<MemberName> names)
    : members(names.size()), stragglers(int(names.size())) {
  for (size_t i = 0; i < names.size(); ++i)
    members[i].name = std::move(names[i]);
}

void Monitor::add(MemberName name) {
  members.emplace_back().name = std::move(name);
  stragglers.grow();
}

void Monitor::setState(int member, State state) {
  members[member].state = state;
  if (state == proto::ClusterStatus::Member::LOST ||
      state == proto::ClusterStatus::Member::HAS_LEFT)
    stragglers.remove(member);
}

void Monitor::heard(int member, const proto::Beat &beat,
                    Clock::time_point now) {
  Member &one = members[member];
  one.state = proto::ClusterStatus::Member::WORKS;
  one.lastBeat = now;
  one.place = beat;
  one.place.clear_steps();
  for (const proto::StepTimes &times : beat.steps()) {
    stragglers.add(member, times);
    if (member != 0)
      continue;
    examples += times.examples();
    recent.push_back({times.examples(), times.seconds()});
  }
  if (member != 0)
    return;
  double seconds = 0;
  for (const Work &work : recent)
    seconds += work.seconds;
  while (recent.size() > 1 &&
         (seconds - recent.front().seconds >= kRateSeconds ||
          recent.size() > kMostSteps)) {
    seconds -= recent.front().seconds;
    recent.pop_front();
  }
}

std::string Monitor::lastPlaceOf(int member, const OpName &nameOp) const {
  const proto::Beat &place = members[member].place;
  if (place.step() == 0)
    return "";
  std::string text = "in step " + std::to_string(place.step());
  for (const proto::RankPlace &rank : place.ranks())
    if (nameOp && rank.has_op())
      return text + ", at " + nameOp(rank.rank(), rank.op());
  return text;
}

static std::string milliseconds(double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3g ms", seconds * 1e3);
  return text;
}

std::vector<std::string> Monitor::takeNotes() {
  for (const Stragglers::Change &change : stragglers.takeChanges()) {
    const MemberName &name = members[change.who.member].name;
    std::string step = std::to_string(change.step);
    notes.push_back(change.isSlow
                        ? name.text() + " is slow (" +
                              textOf(change.who.reason) + "): by step " + step +
                              " a step takes " + milliseconds(change.who.own) +
                              " of its own time, " +
                              milliseconds(change.who.others) +
                              " of the others', and they wait for it"
                        : name.text() + " keeps up again, by step " + step);
  }
  return std::exchange(notes, {});
}

proto::ClusterStatus Monitor::status(Clock::time_point now) const {
  proto::ClusterStatus status;
  for (int i = 0; i < int(members.size()); ++i) {
    const Member &from = members[i];
    proto::ClusterStatus::Member &to = *status.add_members();
    to.set_task(from.name.task);
    to.set_address(from.name.address);
    to.set_host(from.name.hostName);
    to.set_process(from.name.process);
    to.set_state(from.state);
    if (from.state != proto::ClusterStatus::Member::STARTS)
      to.set_beat_age(
          std::chrono::duration<double>(now - from.lastBeat).count());
    to.set_step(from.place.step());
    Stragglers::Means means = stragglers.meansOf(i);
    to.set_input_seconds(means.input);
    to.set_compute_seconds(means.compute);
    to.set_wait_seconds(means.wait);
  }
  const proto::Beat &chief = members.front().place;
  status.set_epoch(chief.epoch());
  status.set_step(chief.step());
  status.set_examples(examples);
  double seconds = 0, count = 0;
  for (const Work &work : recent) {
    seconds += work.seconds;
    count += double(work.examples);
  }
  if (seconds > 0)
    status.set_examples_per_second(count / seconds);
  status.set_slowest(-1);
  if (auto slowest = stragglers.slowest()) {
    status.set_slowest(slowest->member);
    status.set_reason(slowest->reason);
    status.set_slowness(slowest->factor());
  }
  return status;
}

} // namespace dist::cluster
