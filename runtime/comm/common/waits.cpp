//===- waits.cpp - Which rank waits for which -----------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/common/waits.h"
#include <algorithm>
#include <cstdio>

namespace dist {

/// A thread that computes gets at least this part of a CPU, however busy the
/// machine is; one that waits and looks around now and then takes less.
static constexpr int leastPart = 200;

std::chrono::steady_clock::duration toDuration(double seconds) {
  constexpr double longest = 4e9;
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(std::min(seconds, longest)));
}

std::chrono::steady_clock::duration
countedTime(std::chrono::steady_clock::duration between,
            std::chrono::steady_clock::duration slice) {
  return std::min(between, slice);
}

Dependence follow(const Wait &first, const std::vector<Wait> &all, int ranks) {
  Dependence result;
  std::vector<bool> done(ranks);
  result.waits.push_back(first);
  for (size_t next = 0; next < result.waits.size(); ++next) {
    std::vector<int> missing = result.waits[next].missing;
    for (int rank : missing) {
      if (done[rank])
        continue;
      done[rank] = true;
      bool waitsItself = false;
      for (const Wait &other : all)
        if (other.rank == rank) {
          waitsItself = true;
          result.waits.push_back(other);
        }
      if (!waitsItself)
        result.free.push_back(rank);
    }
  }
  return result;
}

/// "rank 1", "ranks 1, 2"; where processes have names, each with its own.
static std::string list(const WorldOptions &options,
                        const std::vector<int> &ranks, const char *between) {
  std::string text = options.nameProcess ? ""
                     : ranks.size() > 1  ? "ranks "
                                         : "rank ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i == 0 ? "" : between) + (options.nameProcess
                                           ? rankName(options, ranks[i])
                                           : std::to_string(ranks[i]));
  return text;
}

Blame blame(const WorldOptions &options, const Dependence &dependence) {
  std::string within = " " + withinTimeout(options);
  auto ofProgress = [&](const char *whose) {
    return dependence.countsFromBegin
               ? std::string()
               : std::string(" of ") + whose + " last progress";
  };
  const std::vector<int> &free = dependence.free;
  // The first whose missing ranks wait for none; if all wait, the loop.
  for (const Wait &wait : dependence.waits) {
    std::vector<int> missing;
    for (int rank : wait.missing)
      if (std::find(free.begin(), free.end(), rank) != free.end())
        missing.push_back(rank);
    if (missing.empty())
      continue;
    bool one = missing.size() == 1;
    std::string why = list(options, missing, ", ");
    if (wait.forMessage && wait.kind == CollectiveKind::Send)
      why += " did not take what " + rankName(options, wait.rank) +
             " had sent before with tag " + std::to_string(wait.tag) + within +
             ofProgress("its");
    else if (wait.forMessage)
      why += " sent nothing with tag " + std::to_string(wait.tag) + within +
             ofProgress("its") + ", and " + rankName(options, wait.rank) +
             " waits for it";
    else
      why += " did not arrive" + within + ofProgress(one ? "its" : "their");
    return {wait.rank, wait.kind, wait.op, why};
  }
  const Wait &first = dependence.waits.front();
  std::string why = "ranks wait for each other" + within + ":";
  for (const Wait &wait : dependence.waits)
    why += (&wait == &first ? " " : ", ") + rankName(options, wait.rank) +
           " at " + name(wait.kind) + " of " +
           opName(options, wait.rank, wait.op) + " for " +
           list(options, wait.missing, " ");
  return {first.rank, first.kind, first.op, why};
}

static std::string describe(const WorldOptions &options, const Wait &wait,
                            const char *format,
                            std::chrono::steady_clock::duration since) {
  char text[128];
  std::snprintf(text, sizeof text, format,
                std::chrono::duration<double>(since).count());
  return rankName(options, wait.rank) + " waits at " + name(wait.kind) +
         " of " + opName(options, wait.rank, wait.op) + " for " +
         list(options, wait.missing, " ") + text;
}

std::string warnOf(const WorldOptions &options, const Wait &wait,
                   std::chrono::steady_clock::duration since) {
  return describe(options, wait, ", which shows no progress for %.3g s", since);
}

std::string warnOfWork(const WorldOptions &options, const Wait &wait,
                       std::chrono::steady_clock::duration since) {
  return describe(options, wait,
                  ", which is at work between two steps, as on files, for "
                  "%.3g s; see that its disk is well",
                  since);
}

bool LifeWatch::sawProgress(const Dependence &dependence,
                            Clock::duration elapsed,
                            const std::vector<LifeSign> &signs) {
  seen.resize(signs.size());
  // Of one whose thread waits, the CPU time is that of looking around.
  std::vector<bool> idle(signs.size());
  std::vector<int> ranks = dependence.free;
  int mine = dependence.waits.front().rank;
  for (const Wait &wait : dependence.waits) {
    if (wait.rank != mine)
      ranks.push_back(wait.rank);
    if (!wait.background)
      idle[wait.rank] = true;
  }
  bool moved = false;
  int64_t least =
      std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count() /
      leastPart;
  for (int rank : ranks) {
    const LifeSign &now = signs[rank], before = seen[rank];
    moved |= now.steps != before.steps;
    moved |= !idle[rank] && now.cpuTime - before.cpuTime > least;
    seen[rank] = now;
  }
  bool works = false;
  for (int rank : dependence.free)
    works |= signs[rank].isAtWork;
  worked = works ? worked + (moved ? elapsed : Clock::duration(0))
                 : Clock::duration(0);
  return moved;
}

} // namespace dist
