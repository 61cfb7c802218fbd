//===- links.cpp - What is between ranks, by level ------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/schedule/links.h"
#include "runtime/comm/schedule/table_file.h"
#include <algorithm>

namespace dist {

Status LinkTable::read(const std::string &path, LinkTable *out) {
  TableFile file("the links",
                 "see --link-table in examples/guide/reading-explain.md");
  DIST_RETURN_IF_ERROR(file.read(path, "levels", {"cores"},
                                 {"level", "ranks", "bytes_per_second",
                                  "latency_seconds", "message_seconds"}));
  double cores = 0;
  DIST_RETURN_IF_ERROR(file.takeNumber("cores", 0, &cores));
  out->numCores = int64_t(std::min(cores, 1e6));
  for (const TableRow &row : file.rows()) {
    LinkLevel level;
    DIST_RETURN_IF_ERROR(file.takeText(row, "level", &level.name));
    DIST_RETURN_IF_ERROR(file.takeCount(row, "ranks", &level.ranks));
    DIST_RETURN_IF_ERROR(
        file.takePositive(row, "bytes_per_second", &level.bytesPerSecond));
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

double LinkTable::getSecondsOfGroup(const Collective &call,
                                    const std::vector<int64_t> &group) const {
  size_t size = group.size(), levels = all.size();
  std::vector<Traffic> sent(size * levels), taken(size * levels);
  double latency = 0;
  message::visitSent(call, int(size),
                     [&](int from, int to, const Traffic &traffic) {
                       size_t level = levelBetween(group[from], group[to]);
                       sent[from * levels + level] += traffic;
                       taken[to * levels + level] += traffic;
                       latency = std::max(latency, all[level].latency);
                     });
  double most = 0;
  for (size_t position = 0; position < size; ++position) {
    double seconds = 0;
    for (size_t i = 0; i < levels; ++i) {
      const Traffic &out = sent[position * levels + i],
                    &in = taken[position * levels + i];
      seconds +=
          double(std::max(out.messages, in.messages)) * all[i].messageSeconds +
          double(std::max(out.bytes, in.bytes)) / all[i].bytesPerSecond;
    }
    most = std::max(most, seconds);
  }
  return most + latency * double(message::countRounds(call, int(size)));
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
