//===- cluster_epochs.cpp - From one set of workers to the next -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Under --elastic: who is lost, whether this process goes on without, and how
// those that are left meet, and begin, again.
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/cluster_impl.h"
#include "tools/dist-run/console.h"
#include "tools/options/interrupt.h"
#include <algorithm>

namespace dist::tools {

/// Beside the time in which a loss is noticed, what it takes from a step to a
/// new meeting.
static constexpr double kRegroupSeconds = 5;
/// The same from the beginning of an epoch, as it compiles or reads its data.
static constexpr double kBeginSeconds = 60;
/// And until one that would be chief has heard of a loss, beside that time.
static constexpr double kTurnSeconds = 1;

/// Of this epoch's members; until all have its heartbeat, those that the last
/// one's misses, too.
std::vector<int> ClusterRun::Impl::findLost(bool waits) const {
  std::vector<int> lost;
  const std::vector<cluster::Member> &members = membership->members();
  if (heartbeatBefore)
    for (const auto &one : heartbeatBefore->findLost(/*waits=*/false))
      for (int member = 0; member < int(members.size()); ++member)
        if (members[member].task == membersBefore[one.member].task &&
            members[member].process == membersBefore[one.member].process)
          lost.push_back(member);
  if (heartbeat)
    for (const auto &one : heartbeat->findLost(waits && lost.empty()))
      lost.push_back(one.member);
  return lost;
}

Status ClusterRun::Impl::checkBefore() const {
  const std::vector<int> lost = findLost(/*waits=*/false);
  return lost.empty() ? Status()
                      : Status::error(StatusCode::Unavailable,
                                      "a process of the cluster is lost",
                                      membership->nameOf(lost.front()));
}

Status ClusterRun::Impl::checkOthers() const {
  Status known = heartbeat->check();
  return known.ok() ? checkBefore() : known;
}

Status ClusterRun::beginEpoch(const Options &options) {
  if (!impl || !impl->membership || impl->membership->epoch() == 0)
    return Status();
  Impl &own = *impl;
  own.isBegun = false;
  if (own.membership->members().size() == 1) // nobody to miss
    return Status();
  own.membership->watch([&own] { return own.checkBefore(); });
  DIST_RETURN_IF_ERROR(own.watchEachOther(options));
  own.membership->watch([&own] { return own.checkOthers(); });
  return Status();
}

bool ClusterRun::hasLostOthers(const Status &failed) {
  if (!impl || !impl->membership || failed.code() != StatusCode::Unavailable)
    return false;
  const bool meetsAgain = impl->membership->othersMeetAgain();
  std::vector<int> lost = impl->membership->findGone();
  for (int member : impl->findLost(/*waits=*/!meetsAgain && lost.empty()))
    lost.push_back(member);
  return (meetsAgain || !lost.empty()) &&
         std::none_of(lost.begin(), lost.end(), [&](int member) {
           return (member == 0 && !impl->canLoseChief) ||
                  member == impl->membership->self();
         });
}

bool ClusterRun::beginsAgain(const Options &options, const Status &failed) {
  const bool isFirst = !impl || !impl->membership || !impl->membership->epoch();
  if (!options.elastic || isFirst || !hasLostOthers(failed))
    return false;
  printNote("dist-run: note: " + explain(failed).message());
  return true;
}

bool ClusterRun::hasNewcomers() {
  return impl && impl->membership && impl->membership->hasNewcomers();
}

Status ClusterRun::agreeToGrow(bool *grows) {
  *grows = false;
  if (!impl)
    return Status();
  std::vector<std::vector<std::string>> all;
  DIST_RETURN_IF_ERROR(impl->membership->exchange("stop",
                                                  {interruptedBy()  ? "ends"
                                                   : hasNewcomers() ? "grows"
                                                                    : ""},
                                                  &all));
  for (const std::vector<std::string> &one : all)
    *grows |= one == std::vector<std::string>{"grows"};
  for (const std::vector<std::string> &one : all)
    *grows &= one != std::vector<std::string>{"ends"};
  return Status();
}

Status ClusterRun::regroup(Options *options) {
  const bool wasChief = isChief();
  setActivity("meeting the workers that are left");
  Membership &membership = *impl->membership;
  cluster::RegroupOptions regrouping;
  regrouping.lost = [this] { return impl->findLost(/*waits=*/false); };
  regrouping.fewest = options->minWorkers;
  // Others have heard of it by then, or are lost, too.
  regrouping.timeout = (impl->isBegun ? kRegroupSeconds : kBeginSeconds) +
                       2 * options->heartbeatTimeout;
  regrouping.turn = kTurnSeconds + 2 * options->heartbeatTimeout;
  std::vector<cluster::Member> before = membership.members();
  if (Status met = membership.regroup(regrouping); !met.ok())
    return explain(met);
  // These are of the members before. Not earlier: who hears that the chief has
  // left does not look for it.
  if (impl->metrics)
    options->metricsPort = impl->metrics->port();
  impl->metrics.reset();
  if (impl->heartbeat) {
    impl->heartbeatBefore = std::move(impl->heartbeat);
    impl->membersBefore = std::move(before);
  }
  mine.clear();
  impl->takeMembers(options);
  impl->preparation.finish();
  if (isChief() && !wasChief)
    printNote("dist-run: note: " + membership.nameOf(0) +
              " is the chief from now on");
  return Status();
}

} // namespace dist::tools
