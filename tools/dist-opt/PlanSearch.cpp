//===- PlanSearch.cpp - Which variables to split -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"
#include "tools/dist-opt/PlanCandidates.h"
#include <cctype>
#include <map>

using namespace mlir;
using namespace mlir::dist;

/// So many compilations at most.
static constexpr int maxTrials = 16;
/// A plan that is not shorter by this is not worth rules.
static constexpr double worthwhile = 0.01;

namespace {
/// Variables that are split alike: the same name but for numbers, and the same
/// shape.
struct Group {
  std::string pattern; // a regular expression of the names
  std::vector<int64_t> shape;
  std::vector<std::string> names;
  int64_t dim = -1;

  double countElements() const {
    double count = double(names.size());
    for (int64_t size : shape)
      count *= double(size);
    return count;
  }
};
} // namespace

/// The name as a regular expression, numbers as any number.
static std::string getPattern(StringRef name) {
  std::string pattern;
  for (size_t i = 0; i < name.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(name[i]))) {
      pattern += llvm::Regex::escape(name.substr(i, 1));
      continue;
    }
    while (i + 1 < name.size() &&
           std::isdigit(static_cast<unsigned char>(name[i + 1])))
      ++i;
    pattern += "[0-9]+";
  }
  return pattern;
}

static std::vector<Group> makeGroups(const Candidate &start) {
  std::map<std::pair<std::string, std::vector<int64_t>>, Group> groups;
  std::map<std::string, int> shapes;
  for (const SplitVariable &variable : start.variables) {
    std::string pattern = getPattern(variable.name);
    Group &group = groups[{pattern, variable.shape}];
    if (group.names.empty())
      ++shapes[pattern];
    group.pattern = pattern;
    group.shape = variable.shape;
    group.names.push_back(variable.name);
    // What a preset splits in one layer alone is all or nothing here.
    group.dim = std::max(group.dim, variable.dim);
  }
  std::vector<Group> list;
  for (auto &[key, group] : groups) {
    // Others have such names, too, or numbers are all that tells them apart.
    if (shapes[group.pattern] > 1) {
      group.pattern.clear();
      for (const std::string &name : group.names)
        group.pattern +=
            (group.pattern.empty() ? "" : "|") + llvm::Regex::escape(name);
    }
    list.push_back(std::move(group));
  }
  llvm::sort(list, [](const Group &a, const Group &b) {
    return std::make_tuple(-a.countElements(), a.pattern) <
           std::make_tuple(-b.countElements(), b.pattern);
  });
  return list;
}

/// The plan that splits the groups as they say.
static Candidate makePlan(const Candidate &start, ArrayRef<Group> groups) {
  Candidate plan;
  plan.options = start.options;
  plan.options.split.clear();
  plan.options.splitPreset.clear();
  for (const Group &group : groups)
    if (group.dim >= 0)
      plan.options.split.push_back(group.pattern + "=" +
                                   std::to_string(group.dim) + ":model");
  plan.name = nameOf(plan.options);
  return plan;
}

static std::string describe(int64_t dim) {
  return dim < 0 ? "whole" : "split along dim " + std::to_string(dim);
}

std::optional<Candidate>
mlir::dist::searchSplits(const Candidate &start, TrainedModels &trained,
                         std::vector<std::string> &changes) {
  std::vector<Group> groups = makeGroups(start);
  // `shortest`: the best without what only takes rules away.
  Candidate best = start, shortest = start;
  int trials = 0;
  auto fits = [](const Candidate &one) { return one.refused.empty(); };
  for (Group &group : groups) {
    // A bias follows its weight.
    if (group.shape.size() < 2)
      continue;
    int64_t old = group.dim, chosen = old;
    std::string change;
    for (int64_t dim = -1; dim < int64_t(group.shape.size()); ++dim) {
      if (dim == old || trials == maxTrials)
        continue;
      group.dim = dim;
      Candidate plan = makePlan(start, groups);
      if (plan.options.split.empty())
        continue;
      ++trials;
      weigh(plan, trained);
      bool better =
          fits(plan)
              ? !fits(best) || plan.seconds < best.seconds * (1 - worthwhile)
              : !fits(best) && plan.wasPredicted() && plan.peak < best.peak;
      // A rule that others imply says nothing, but without those this variable
      // would go on being split, and they with it: the one of a pair by the
      // other.
      if (!better && dim < 0 && fits(plan) == fits(best) &&
          plan.seconds == best.seconds && plan.peak <= best.peak) {
        best = plan;
        chosen = dim;
      }
      if (!better)
        continue;
      change = llvm::formatv(
                   "{0} {1} instead of {2}: {3:F3} ms instead of {4:F3} ms, "
                   "peak {5:F2} MiB instead of {6:F2} MiB",
                   group.pattern, describe(dim), describe(old),
                   plan.seconds * 1e3, best.seconds * 1e3,
                   double(plan.peak) / (1 << 20), double(best.peak) / (1 << 20))
                   .str();
      best = shortest = plan;
      chosen = dim;
    }
    group.dim = chosen;
    if (!change.empty())
      changes.push_back(change);
  }
  if (changes.empty() || !fits(best))
    return std::nullopt;
  // The other entries have to allow the rules, too; more of them leave less to
  // propagation.
  for (const Candidate *each : {&best, &shortest}) {
    Candidate whole;
    whole.options = each->options;
    whole.name = each->name;
    weigh(whole, trained, /*whole=*/true);
    if (fits(whole))
      return whole;
  }
  return std::nullopt;
}
