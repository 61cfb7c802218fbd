//===- stragglers.cpp - Which process the others wait for -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/heartbeat/stragglers.h"
#include <algorithm>
#include <utility>

namespace dist::cluster {

/// Steps that are looked back on; of these so many must be slow for the process
/// to be called so, and so few for it to be called so no more.
static constexpr size_t kSteps = 8, kMany = 6, kFew = 2;
/// A slow step: its own time is so many times the others', and the difference
/// is this part of the step, and so many seconds: where steps are shorter than
/// the turns that a system gives its processes, these alone differ by more.
static constexpr double kFactor = 3, kPart = 0.3, kLeast = 2e-3;
/// In this part of a step all wait: what they wait for is none of them.
static constexpr double kNetworkPart = 0.5;
/// Steps that not all have told of yet.
static constexpr size_t kMostOpen = 1024;

void Stragglers::add(int member, const proto::StepTimes &times) {
  if (!members[member].isHere)
    return;
  std::vector<std::optional<Means>> &all = open[times.step()];
  all.resize(members.size());
  Means &mine = all[member].emplace();
  mine.wait = std::min(times.wait_seconds(), times.seconds());
  mine.input = std::min(times.input_seconds(), times.seconds() - mine.wait);
  mine.compute = times.seconds() - mine.wait - mine.input;
  auto isWhole = [&](const std::vector<std::optional<Means>> &one) {
    for (size_t i = 0; i < members.size(); ++i)
      if (members[i].isHere && !one[i])
        return false;
    return true;
  };
  // In the order of steps: a process tells of a step before it does of the
  // next. What one has never told of goes with the next that it has.
  if (isWhole(all)) {
    compare(times.step(), all);
    open.erase(open.begin(), open.upper_bound(times.step()));
  }
  while (open.size() > kMostOpen)
    open.erase(open.begin());
}

void Stragglers::remove(int member) {
  members[member].isHere = false;
  members[member].last.clear();
}

static double median(std::vector<double> values) {
  size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  return values[middle];
}

std::optional<Stragglers::Slowest>
Stragglers::findSlowest(const std::vector<Means> &all,
                        const std::vector<int> &here) const {
  if (here.size() < 2)
    return std::nullopt;
  Slowest result;
  result.member =
      *std::max_element(here.begin(), here.end(), [&](int a, int b) {
        return all[a].own() < all[b].own();
      });
  std::vector<double> own, input;
  double leastWait = all[result.member].wait;
  for (int member : here) {
    leastWait = std::min(leastWait, all[member].wait);
    if (member == result.member)
      continue;
    own.push_back(all[member].own());
    input.push_back(all[member].input);
  }
  const Means &slow = all[result.member];
  result.own = slow.own();
  result.others = median(own);
  double step = slow.own() + slow.wait;
  result.isFar = result.own > kFactor * result.others &&
                 result.own - result.others > std::max(kPart * step, kLeast);
  if (leastWait > kNetworkPart * step && !result.isFar)
    result.reason = proto::ClusterStatus::NETWORK;
  else if (slow.input - median(input) > (result.own - result.others) / 2)
    result.reason = proto::ClusterStatus::INPUT;
  else
    result.reason = proto::ClusterStatus::COMPUTE;
  return result;
}

void Stragglers::compare(int64_t step,
                         const std::vector<std::optional<Means>> &all) {
  std::vector<Means> times(members.size());
  std::vector<int> here;
  for (int i = 0; i < int(members.size()); ++i) {
    if (!members[i].isHere)
      continue;
    here.push_back(i);
    times[i] = *all[i];
    members[i].last.push_back(times[i]);
    if (members[i].last.size() > kSteps)
      members[i].last.pop_front();
  }
  std::optional<Slowest> found = findSlowest(times, here);
  if (!found)
    return;
  for (int i : here) {
    Member &member = members[i];
    member.slow.push_back(found->isFar && i == found->member);
    if (member.slow.size() > kSteps)
      member.slow.pop_front();
    size_t count = std::count(member.slow.begin(), member.slow.end(), true);
    bool isNamed = member.isNamed ? count > kFew : count >= kMany;
    if (isNamed == member.isNamed)
      continue;
    member.isNamed = isNamed;
    Slowest who = isNamed ? *slowest() : Slowest();
    who.member = i;
    changes.push_back({who, isNamed, step});
  }
}

Stragglers::Means Stragglers::meansOf(int member) const {
  Means sum;
  const std::deque<Means> &last = members[member].last;
  for (const Means &one : last) {
    sum.input += one.input / double(last.size());
    sum.compute += one.compute / double(last.size());
    sum.wait += one.wait / double(last.size());
  }
  return sum;
}

std::optional<Stragglers::Slowest> Stragglers::slowest() const {
  std::vector<Means> means(members.size());
  std::vector<int> here;
  for (int i = 0; i < int(members.size()); ++i)
    if (!members[i].last.empty()) {
      means[i] = meansOf(i);
      here.push_back(i);
    }
  return findSlowest(means, here);
}

std::vector<Stragglers::Change> Stragglers::takeChanges() {
  return std::exchange(changes, {});
}

} // namespace dist::cluster
