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
#include "tools/dist-opt/PlanCandidates.h"
#include "tools/dist-opt/Reports.h"
#include "tools/options/interrupt.h"
#include "tools/options/values.h"

using namespace mlir;
using namespace mlir::dist;
using ::dist::Status;
using ::dist::StatusCode;
using ::dist::tools::Options;
using ::dist::tools::Strategy;

/// Predictions are no better than this: of plans that differ by less, the one
/// listed first is the simplest.
static constexpr double alike = 0.01;

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

/// Why the one and not the other.
static std::string compare(const Candidate &best, const Candidate &other) {
  if (other.seconds <= best.seconds * (1 + alike))
    return "no longer than " + other.name + " and simpler";
  double waits = (other.transferSeconds - best.transferSeconds) * 1e3;
  return llvm::formatv(
             "{0:F0} % shorter than {1}, which {2}",
             (1 - best.seconds / other.seconds) * 100, other.name,
             waits > 0
                 ? llvm::formatv("waits {0:F3} ms longer for transfers", waits)
                       .str()
                 : std::string("computes longer"))
      .str();
}

static void print(const std::vector<Candidate> &list, const Candidate &best,
                  ArrayRef<const Candidate *> rivals,
                  ArrayRef<Candidate> leftOut, ArrayRef<std::string> changes,
                  const std::string &machine, llvm::raw_ostream &os) {
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
  if (rivals.empty())
    os << ", the only one possible";
  for (const Candidate *rival : rivals)
    os << (rival == rivals.front() ? ", " : "; ") << compare(best, *rival);
  os << "\n";
  for (const std::string &rule : best.options.split)
    os << "  --split '" << rule << "'\n";
}

/// What `--strategy @FILE` reads.
static Status save(const Options &options, const std::string &path) {
  ::dist::tools::Shield shield("writing the output");
  return ::dist::writeFile(path, ::dist::tools::formatPlan(options));
}

/// The shortest possible one that `counts`; null: there is none.
static const Candidate *
findShortest(const std::vector<Candidate> &list,
             llvm::function_ref<bool(const Candidate &)> counts) {
  const Candidate *shortest = nullptr;
  for (const Candidate &one : list)
    if (one.refused.empty() && counts(one) &&
        (!shortest || one.isBetterThan(*shortest)))
      shortest = &one;
  return shortest;
}

static const Candidate *findBest(const std::vector<Candidate> &list) {
  const Candidate *shortest =
      findShortest(list, [](const Candidate &) { return true; });
  if (!shortest)
    return nullptr;
  return &*llvm::find_if(list, [&](const Candidate &one) {
    return one.refused.empty() &&
           one.seconds <= shortest->seconds * (1 + alike);
  });
}

/// What the best is held against: the best of the others, and if that is but
/// another form of the same strategies, the best of other strategies.
static SmallVector<const Candidate *>
findRivals(const std::vector<Candidate> &list, const Candidate &best) {
  SmallVector<const Candidate *> rivals;
  const Candidate *next =
      findShortest(list, [&](const Candidate &one) { return &one != &best; });
  if (!next)
    return rivals;
  rivals.push_back(next);
  auto isOfOthers = [&](const Candidate &one) {
    return !llvm::equal(
        one.options.strategies, best.options.strategies,
        [](const Strategy &l, const Strategy &r) { return l.name == r.name; });
  };
  if (!isOfOthers(*next))
    if (const Candidate *other = findShortest(list, isOfOthers))
      rivals.push_back(other);
  return rivals;
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

/// Compiles as far as a prediction does, for the errors in its way.
static int reportRefusal(const Options &given, const DialectRegistry &registry,
                         const Machine &machine) {
  Options options = given;
  if (options.emit.empty() && options.explain.empty())
    options.emit = "rt";
  return Compilation(options, registry, machine).run();
}

int mlir::dist::chooseStrategy(Options &options,
                               const DialectRegistry &registry,
                               const Machine &machine) {
  std::vector<Candidate> list, leftOut;
  TrainedModels trained(registry, machine);
  for (Candidate &one : listCandidates(options)) {
    weigh(one, trained);
    bool isLeftOut = one.isVariant && !one.wasPredicted();
    (isLeftOut ? leftOut : list).push_back(std::move(one));
  }
  std::vector<std::string> changes;
  // Rules that the user gave say what to split.
  if (const Candidate *start = findStart(list);
      start && options.split.empty() && options.splitPreset.empty())
    if (auto found = searchSplits(*start, trained, changes))
      list.push_back(std::move(*found));
  const Candidate *best = findBest(list);
  if (!best) {
    // The first, mostly one device, says what is wrong with the model itself.
    if (list.empty())
      return reportError(Status::error(
          StatusCode::InvalidArgument, "nothing to choose from",
          "--strategy auto", "one device cannot split what --split names",
          "give --devices cpu:2 or more, or leave the rules out"));
    const Candidate &plain = list.front();
    if (!plain.wasPredicted() || options.memoryLimitGiB <= 0)
      return reportRefusal(plain.options, registry, machine);
    return reportError(Status::error(StatusCode::InvalidInput,
                                     "no strategy fits", "--strategy auto",
                                     plain.name + " " + plain.refused +
                                         ", and no other needs less than "
                                         "--memory-limit",
                                     "give more devices or a higher limit"));
  }
  if (best->options.split.empty())
    changes.clear();
  print(list, *best, findRivals(list, *best), leftOut, changes,
        machine.describe(),
        options.explain == "table" ? llvm::outs() : llvm::errs());
  std::string plan = options.savePlan;
  options = Options(best->options);
  if (!plan.empty())
    if (Status status = save(options, plan); !status.ok())
      return reportError(status);
  return 0;
}
