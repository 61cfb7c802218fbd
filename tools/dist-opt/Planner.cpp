//===- Planner.cpp - --strategy auto -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/Planner.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/formats/file.h"
#include "tools/dist-opt/Compilation.h"
#include "tools/dist-opt/Machine.h"
#include "tools/dist-opt/PlanCandidates.h"
#include "tools/dist-opt/Reports.h"

using namespace mlir;
using namespace mlir::dist;
using ::dist::Status;
using ::dist::StatusCode;
using ::dist::tools::Options;

/// Predictions are no better than this: of plans that differ by less, the one
/// listed first is the simplest.
static constexpr double alike = 0.02;

/// Variants that the model does not allow, once a reason: rows of them all
/// would hide the others.
static void printLeftOut(ArrayRef<Candidate> variants, llvm::raw_ostream &os) {
  llvm::MapVector<StringRef, SmallVector<StringRef>> names;
  for (const Candidate &one : variants)
    names[one.refused].push_back(one.name);
  for (const auto &[reason, those] : names) {
    os << "left out: " << those.front();
    if (those.size() > 1)
      os << " and " << those.size() - 1 << " like it";
    os << ": " << reason << "\n";
  }
}

static void print(const std::vector<Candidate> &list, const Candidate &best,
                  const Candidate *next, ArrayRef<Candidate> leftOut,
                  ArrayRef<std::string> changes, const std::string &machine,
                  llvm::raw_ostream &os) {
  os << "strategies weighed (predicted, a step; " << machine << "):\n";
  // The best first; what is not possible last.
  SmallVector<const Candidate *> order(llvm::make_pointer_range(list));
  llvm::sort(order, [](const Candidate *a, const Candidate *b) {
    return a->isBetterThan(*b) || (!b->isBetterThan(*a) && a < b);
  });
  size_t width = 0;
  for (const Candidate *each : order)
    width = std::max(width, each->name.size());
  for (const Candidate *each : order) {
    const Candidate &one = *each;
    os << (&one == &best ? "* " : "  ")
       << llvm::left_justify(one.name, width + 1);
    if (one.wasPredicted())
      os << llvm::formatv(
          "{0,10:F3} ms, transfers {1,9:F3} ms, {2,9:F2} MiB sent, peak "
          "{3,9:F2} MiB",
          one.seconds * 1e3, one.transferSeconds * 1e3,
          one.bytesSent / (1 << 20), double(one.peak) / (1 << 20));
    if (!one.refused.empty())
      os << (one.wasPredicted() ? "; " : "") << "not possible: " << one.refused;
    os << "\n";
  }
  printLeftOut(leftOut, os);
  for (const std::string &change : changes)
    os << "split by variable: " << change << "\n";
  os << "chosen: " << best.name;
  if (next && next->seconds <= best.seconds * (1 + alike))
    os << ", no longer than " << next->name << " and simpler";
  else if (next)
    os << llvm::formatv(
        ", {0:F0} % shorter than {1}, which {2}",
        (1 - best.seconds / next->seconds) * 100, next->name,
        next->transferSeconds > best.transferSeconds
            ? llvm::formatv("waits {0:F3} ms longer for transfers",
                            (next->transferSeconds - best.transferSeconds) *
                                1e3)
                  .str()
            : std::string("computes longer"));
  else
    os << ", the only one possible";
  os << "\n";
  for (const std::string &rule : best.options.split)
    os << "  --split '" << rule << "'\n";
}

/// What `--strategy @FILE` reads.
static Status save(const Options &options, const std::string &path) {
  std::string text =
      "--strategy=" + ::dist::tools::formatStrategies(options.strategies) +
      "\n";
  if (!options.mesh.empty())
    text += "--mesh=" + ::dist::tools::formatMesh(options.mesh) + "\n";
  text += "--devices=" + options.devices.front().kind + ":" +
          std::to_string(options.devices.size()) + "\n";
  for (const std::string &rule : options.split)
    text += "--split=" + rule + "\n";
  if (!options.splitPreset.empty())
    text += "--split-preset=" + options.splitPreset + "\n";
  return ::dist::writeFile(path, text);
}

/// The best that is possible, and the best of the others; null: there is none.
static std::pair<const Candidate *, const Candidate *>
findBest(const std::vector<Candidate> &list) {
  auto findShortest = [&](const Candidate *without) {
    const Candidate *shortest = nullptr;
    for (const Candidate &one : list)
      if (one.refused.empty() && &one != without &&
          (!shortest || one.isBetterThan(*shortest)))
        shortest = &one;
    return shortest;
  };
  const Candidate *best = findShortest(nullptr);
  if (!best)
    return {nullptr, nullptr};
  best = &*llvm::find_if(list, [&](const Candidate &one) {
    return one.refused.empty() && one.seconds <= best->seconds * (1 + alike);
  });
  return {best, findShortest(best)};
}

/// Where the search for splits begins: the best plan with an axis for the
/// model, or if none fits, the smallest.
static const Candidate *findStart(const std::vector<Candidate> &list) {
  const Candidate *start = nullptr;
  for (const Candidate &one : list) {
    if (one.variables.empty() || !one.wasPredicted())
      continue;
    bool fits = one.refused.empty();
    if (!start || (fits ? one.isBetterThan(*start)
                        : !start->refused.empty() && one.peak < start->peak))
      start = &one;
  }
  return start;
}

int mlir::dist::chooseStrategy(Options &options,
                               const DialectRegistry &registry) {
  std::vector<Candidate> list = listCandidates(options);
  TrainedModels trained(registry);
  for (Candidate &candidate : list)
    weigh(candidate, trained);
  auto isLeftOut = [](const Candidate &one) {
    return one.isVariant && !one.wasPredicted();
  };
  std::vector<Candidate> leftOut;
  llvm::copy_if(list, std::back_inserter(leftOut), isLeftOut);
  llvm::erase_if(list, isLeftOut);
  std::vector<std::string> changes;
  // Rules that the user gave say what to split.
  if (const Candidate *start = findStart(list);
      start && options.split.empty() && options.splitPreset.empty())
    if (auto found = searchSplits(*start, trained, changes))
      list.push_back(std::move(*found));
  auto [best, next] = findBest(list);
  if (!best) {
    // One device is the case that says what is wrong with the model itself.
    const Candidate &plain = *llvm::find_if(list, [](const Candidate &one) {
      return one.options.strategies.front().name == "one-device";
    });
    if (!plain.wasPredicted() || options.memoryLimitGiB <= 0)
      return Compilation(plain.options, registry).run();
    return reportError(Status::error(StatusCode::InvalidInput,
                                     "no strategy fits", "--strategy auto",
                                     "on one device it " + plain.refused +
                                         ", and no other needs less than "
                                         "--memory-limit",
                                     "give more devices or a higher limit"));
  }
  if (best->options.split.empty())
    changes.clear();
  print(list, *best, next, leftOut, changes, describeMachine(options),
        options.explain == "table" ? llvm::outs() : llvm::errs());
  std::string plan = options.savePlan;
  options = Options(best->options);
  if (!plan.empty())
    if (Status status = save(options, plan); !status.ok())
      return reportError(status);
  return 0;
}
