//===- times.cpp - How long collectives take, measured --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/schedule/times.h"
#include "runtime/comm/schedule/choice.h"
#include "runtime/comm/schedule/table_file.h"
#include "runtime/formats/file.h"
#include <nlohmann/json.hpp>

namespace dist {

static constexpr LinkClass links[] = {LinkClass::Memory, LinkClass::Process,
                                      LinkClass::Network};
static constexpr CollectiveKind kinds[] = {
    CollectiveKind::AllReduce,     CollectiveKind::AllGather,
    CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
    CollectiveKind::Broadcast,     CollectiveKind::Permute};

const char *name(LinkClass link) {
  static const char *const names[] = {"memory", "process", "network"};
  return names[static_cast<int>(link)];
}

bool isTimed(CollectiveKind kind) {
  return std::find(std::begin(kinds), std::end(kinds), kind) != std::end(kinds);
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

Status writeCollectiveTimes(const std::string &path,
                            const CollectiveTimes &times) {
  std::string text = "{\"version\": 1, \"collectives\": [";
  const char *separator = "\n";
  for (const CollectiveTime &row : times) {
    nlohmann::ordered_json json = {
        {"collective", name(row.kind)}, {"algorithm", name(row.algorithm)},
        {"link", name(row.link)},       {"ranks", row.ranks},
        {"bytes", row.bytes},           {"seconds", row.seconds}};
    text += separator + json.dump();
    separator = ",\n";
  }
  return writeFile(path, text + "\n]}\n");
}

/// The value of `all` whose name the row has.
template <typename T, size_t N, typename Name>
static Status takeNamed(const TableFile &file, const TableRow &row,
                        const char *field, const T (&all)[N], Name nameOfOne,
                        T *out) {
  std::string given, known;
  DIST_RETURN_IF_ERROR(file.takeText(row, field, &given));
  for (const T &one : all) {
    if (given == nameOfOne(one)) {
      *out = one;
      return Status();
    }
    known += (known.empty() ? "" : ", ") + std::string(nameOfOne(one));
  }
  return file.wrong(row.line, std::string("unknown '") + field + "' '" + given +
                                  "'; there are " + known);
}

Status CollectiveTable::read(const std::string &path, CollectiveTable *out) {
  TableFile file("the collectives' times",
                 "measure them: dist-run bench --collectives --output FILE");
  DIST_RETURN_IF_ERROR(file.read(
      path, "collectives", {},
      {"collective", "algorithm", "link", "ranks", "bytes", "seconds"}));
  for (const TableRow &row : file.rows()) {
    CollectiveTime time;
    DIST_RETURN_IF_ERROR(takeNamed(
        file, row, "collective", kinds,
        [](CollectiveKind kind) { return name(kind); }, &time.kind));
    AlgorithmFacts facts{};
    DIST_RETURN_IF_ERROR(takeNamed(
        file, row, "algorithm", allAlgorithms,
        [](const AlgorithmFacts &one) { return one.name; }, &facts));
    time.algorithm = facts.algorithm;
    DIST_RETURN_IF_ERROR(takeNamed(
        file, row, "link", links, [](LinkClass link) { return name(link); },
        &time.link));
    DIST_RETURN_IF_ERROR(file.takeCount(row, "ranks", &time.ranks));
    DIST_RETURN_IF_ERROR(file.takeCount(row, "bytes", &time.bytes));
    DIST_RETURN_IF_ERROR(file.takePositive(row, "seconds", &time.seconds));
    out->add(time);
  }
  if (file.rows().empty())
    return file.wrong(1, "it has no rows");
  return Status();
}

//===----------------------------------------------------------------------===//
// Times of what is between the rows
//===----------------------------------------------------------------------===//

void CollectiveTable::add(const CollectiveTime &row) {
  rows[{row.kind, row.algorithm, row.link}][row.ranks][row.bytes] = row.seconds;
}

/// On the line through two points.
static double between(double x, double x0, double y0, double x1, double y1) {
  return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
}

static double findBySize(const std::map<int64_t, double> &sizes,
                         int64_t bytes) {
  auto above = sizes.lower_bound(bytes);
  if (above == sizes.begin())
    return above->second;
  auto below = std::prev(above);
  if (above == sizes.end())
    return below->second * double(bytes) / double(below->first);
  return between(double(bytes), double(below->first), below->second,
                 double(above->first), above->second);
}

std::optional<double> CollectiveTable::find(const TimedCall &call) const {
  auto found = rows.find({call.kind, call.algorithm, call.link});
  if (found == rows.end())
    return std::nullopt;
  auto above = found->second.lower_bound(call.ranks);
  if (above == found->second.end() ||
      (above == found->second.begin() && above->first != call.ranks))
    return std::nullopt;
  double seconds = findBySize(above->second, call.bytes);
  if (above->first == call.ranks)
    return seconds;
  auto below = std::prev(above);
  return between(double(call.ranks), double(below->first),
                 findBySize(below->second, call.bytes), double(above->first),
                 seconds);
}

Algorithm CollectiveTable::chooseAllReduce(const TimedCall &call) const {
  auto largestOf = [&](Algorithm algorithm) {
    int64_t largest = 0;
    auto found = rows.find({call.kind, algorithm, call.link});
    if (found != rows.end())
      for (auto &[ranks, sizes] : found->second)
        largest = std::max(largest, sizes.rbegin()->first);
    return largest;
  };
  int64_t largest = 0;
  for (const AlgorithmFacts &one : allAlgorithms)
    largest = std::max(largest, largestOf(one.algorithm));
  Algorithm best = Algorithm::Auto;
  std::optional<double> least;
  for (const AlgorithmFacts &one : allAlgorithms) {
    if (!message::keepsOrder(one.algorithm))
      continue;
    TimedCall tried = call;
    tried.algorithm = one.algorithm;
    if (std::min(call.bytes, largest) > largestOf(one.algorithm))
      continue;
    std::optional<double> seconds = find(tried);
    if (seconds && (!least || *seconds < *least)) {
      best = one.algorithm;
      least = seconds;
    }
  }
  return best;
}

std::string CollectiveTable::describeMissing(const TimedCall &call) const {
  std::string text = std::string(name(call.kind));
  if (call.algorithm != Algorithm::Auto)
    text += std::string(" by ") + name(call.algorithm);
  text += " of " + std::to_string(call.ranks) + " ranks over " +
          name(call.link) + "; of ";
  auto found = rows.find({call.kind, call.algorithm, call.link});
  if (found == rows.end())
    return text + "that collective and link it has none";
  text += "that collective and link it has those of ";
  const char *separator = "";
  for (auto &[ranks, sizes] : found->second) {
    text += separator + std::to_string(ranks);
    separator = ", ";
  }
  return text + " ranks";
}

} // namespace dist
