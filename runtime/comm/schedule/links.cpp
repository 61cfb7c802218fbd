//===- links.cpp - What is between ranks, by level ------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/schedule/links.h"
#include "runtime/comm/schedule/table_file.h"
#include <algorithm>
#include <optional>

namespace dist {

Status LinkTable::read(const std::string &path, LinkTable *out) {
  TableFile file("the links",
                 "see --link-table in examples/guide/reading-explain.md");
  DIST_RETURN_IF_ERROR(file.read(path, "levels", {"cores"},
                                 {"level", "ranks", "bytes_per_second",
                                  "one_way_bytes_per_second", "latency_seconds",
                                  "message_seconds"}));
  double cores = 0;
  DIST_RETURN_IF_ERROR(file.takeNumber("cores", 0, &cores));
  out->numCores = int64_t(std::min(cores, 1e6));
  for (const TableRow &row : file.rows()) {
    LinkLevel level;
    DIST_RETURN_IF_ERROR(file.takeText(row, "level", &level.name));
    DIST_RETURN_IF_ERROR(file.takeCount(row, "ranks", &level.ranks));
    DIST_RETURN_IF_ERROR(
        file.takePositive(row, "bytes_per_second", &level.bytesPerSecond));
    level.oneWayBytesPerSecond = level.bytesPerSecond;
    if (row.numbers.count("one_way_bytes_per_second"))
      DIST_RETURN_IF_ERROR(file.takePositive(row, "one_way_bytes_per_second",
                                             &level.oneWayBytesPerSecond));
    if (level.oneWayBytesPerSecond < level.bytesPerSecond)
      return file.wrong(row.line, "expected 'one_way_bytes_per_second' to be "
                                  "at least 'bytes_per_second'");
    DIST_RETURN_IF_ERROR(
        file.takeNumber(row, "latency_seconds", &level.latency));
    DIST_RETURN_IF_ERROR(
        file.takeNumber(row, "message_seconds", &level.messageSeconds));
    if (!out->all.empty()) {
      const LinkLevel &inner = out->all.back();
      if (level.ranks <= inner.ranks || level.ranks % inner.ranks != 0)
        return file.wrong(row.line, "expected the ranks of '" + level.name +
                                        "' to be a multiple of the " +
                                        std::to_string(inner.ranks) + " of '" +
                                        inner.name + "', but got " +
                                        std::to_string(level.ranks));
    }
    out->all.push_back(std::move(level));
  }
  return out->all.empty() ? file.wrong(1, "it has no levels") : Status();
}

size_t LinkTable::levelBetween(int64_t a, int64_t b) const {
  size_t level = 0;
  while (level + 1 < all.size() && a / all[level].ranks != b / all[level].ranks)
    ++level;
  return level;
}

bool LinkTable::knowsOneWay() const {
  return std::any_of(all.begin(), all.end(), [](const LinkLevel &level) {
    return level.oneWayBytesPerSecond != level.bytesPerSecond;
  });
}

namespace {
/// When a rank is done, in seconds from a collective's begin.
struct RankTimes {
  double sent = 0;  // with what it has sent so far
  double taken = 0; // with what goes to it in the rounds before
  // Of the round under way: when the first message begins to come, when the
  // last one is there, and what taking them costs.
  double begins = 0, ends = 0, cost = 0;
  bool takes = false;

  void endRound() {
    if (takes)
      taken = std::max(ends, std::max(begins, taken) + cost);
    ends = cost = 0;
    takes = false;
  }
};

/// Who sends and who takes, in each round of a collective.
class Directions {
public:
  Directions(const Collective &call, size_t size) : size(size) {
    message::visitSent(call, int(size), [&](const message::Sending &one) {
      sends.resize((one.round + 1) * size);
      takes.resize((one.round + 1) * size);
      sends[one.round * size + one.from] = true;
      takes[one.round * size + one.to] = true;
    });
  }
  /// Neither end is under way the other way, too.
  bool isOneWay(const message::Sending &one) const {
    return !takes[one.round * size + one.from] &&
           !sends[one.round * size + one.to];
  }

private:
  size_t size;
  std::vector<bool> sends, takes;
};
} // namespace

double LinkTable::getSecondsOfGroup(const Collective &call,
                                    const std::vector<int64_t> &group) const {
  std::vector<RankTimes> ranks(group.size());
  std::optional<Directions> directions;
  if (knowsOneWay())
    directions.emplace(call, group.size());
  int64_t round = 0;
  auto endRound = [&] {
    for (RankTimes &rank : ranks)
      rank.endRound();
  };
  message::visitSent(call, int(group.size()), [&](const message::Sending &one) {
    if (one.round != round)
      endRound();
    round = one.round;
    const LinkLevel &level = all[levelBetween(group[one.from], group[one.to])];
    const double rate = directions && directions->isOneWay(one)
                            ? level.oneWayBytesPerSecond
                            : level.bytesPerSecond;
    const double cost = double(one.traffic.messages) * level.messageSeconds +
                        double(one.traffic.bytes) / rate;
    RankTimes &from = ranks[one.from], &to = ranks[one.to];
    const double leaves = std::max(from.sent, from.taken);
    const double begins = leaves + level.latency;
    from.sent = leaves + cost;
    to.begins = to.takes ? std::min(to.begins, begins) : begins;
    to.ends = std::max(to.ends, begins + cost);
    to.cost += cost;
    to.takes = true;
  });
  endRound();
  double last = 0;
  for (const RankTimes &rank : ranks)
    last = std::max({last, rank.sent, rank.taken});
  return last;
}

double
LinkTable::getSeconds(const Collective &call,
                      const std::vector<std::vector<int64_t>> &groups) const {
  double seconds = 0;
  for (const std::vector<int64_t> &group : groups)
    seconds = std::max(seconds, getSecondsOfGroup(call, group));
  return seconds;
}

} // namespace dist
