//===- host_list.cpp - Slurm's lists of hosts and counts --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/host_list.h"
#include "runtime/cluster/cluster_spec.h"
#include "runtime/core/text.h"

namespace dist::cluster {

/// Short texts stand for long lists: node[0-999999999] is none that exists.
static constexpr size_t kMostHosts = 1 << 16;
static constexpr size_t kLongestName = 253;

static bool isNumber(const std::string &text) {
  return !text.empty() && text.size() <= 9 &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

/// The numbers of one bracket, as they are written: 01-03 keeps its zeros.
static std::optional<std::string> expandRanges(const std::string &text,
                                               std::vector<std::string> *out) {
  for (const std::string &range : splitList(text)) {
    size_t dash = range.find('-');
    std::string first = range.substr(0, dash);
    std::string last =
        dash == std::string::npos ? first : range.substr(dash + 1);
    if (!isNumber(first) || !isNumber(last))
      return inQuotes(range) + " is no number and no range of numbers";
    int from = std::stoi(first), to = std::stoi(last);
    if (to < from)
      return inQuotes(range) + " ends before it begins";
    if (size_t(to - from) >= kMostHosts - out->size())
      return "it has more than " + std::to_string(kMostHosts) + " hosts";
    for (int i = from; i <= to; ++i) {
      std::string digits = std::to_string(i);
      if (digits.size() < first.size())
        digits.insert(0, first.size() - digits.size(), '0');
      out->push_back(digits);
    }
  }
  return std::nullopt;
}

std::optional<std::string> parseHostList(const std::string &text,
                                         std::vector<std::string> *hosts) {
  // Names may be separated within brackets only after these are closed.
  int depth = 0;
  for (char c : text) {
    depth += (c == '[') - (c == ']');
    if (depth < 0)
      return std::string("a ] closes nothing");
    if (depth > 1)
      return std::string("brackets stand within brackets");
  }
  if (depth > 0)
    return std::string("the [ is not closed");
  for (const std::string &item : splitList(text)) {
    if (item.empty())
      return std::string("a name is empty");
    std::vector<std::string> names = {""};
    for (size_t at = 0; at < item.size();) {
      if (item[at] != '[') {
        for (std::string &name : names)
          name += item[at];
        if (names[0].size() > kLongestName)
          return std::string("a name is too long");
        ++at;
        continue;
      }
      size_t end = item.find(']', at);
      std::vector<std::string> numbers;
      if (auto why = expandRanges(item.substr(at + 1, end - at - 1), &numbers))
        return why;
      if (names.size() * numbers.size() + hosts->size() > kMostHosts)
        return "it has more than " + std::to_string(kMostHosts) + " hosts";
      std::vector<std::string> longer;
      for (const std::string &name : names)
        for (const std::string &number : numbers)
          longer.push_back(name + number);
      names = std::move(longer);
      at = end + 1;
    }
    if (names.size() + hosts->size() > kMostHosts)
      return "it has more than " + std::to_string(kMostHosts) + " hosts";
    hosts->insert(hosts->end(), names.begin(), names.end());
  }
  return std::nullopt;
}

std::optional<std::string> parseTaskCounts(const std::string &text,
                                           std::vector<int> *counts) {
  for (const std::string &item : splitList(text)) {
    size_t open = item.find("(x");
    std::string count = item.substr(0, open), times = "1";
    if (open != std::string::npos) {
      if (item.back() != ')')
        return inQuotes(item) + " has no )";
      times = item.substr(open + 2, item.size() - open - 3);
    }
    if (!isNumber(count) || !isNumber(times) || std::stoi(count) == 0 ||
        std::stoi(times) == 0)
      return inQuotes(item) + " is no count, as 2 or 2(x3)";
    if (size_t(std::stoi(times)) > kMostHosts - counts->size())
      return "it has more than " + std::to_string(kMostHosts) + " nodes";
    counts->insert(counts->end(), size_t(std::stoi(times)), std::stoi(count));
  }
  return std::nullopt;
}

} // namespace dist::cluster
