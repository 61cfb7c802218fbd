//===- Planner.cpp - --strategy auto -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/Planner.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/formats/file.h"
#include "tools/dist-opt/Compilation.h"
#include "tools/dist-opt/Reports.h"

using namespace mlir;
using namespace mlir::dist;
using ::dist::Status;
using ::dist::StatusCode;
using ::dist::tools::Options;
using ::dist::tools::Strategy;

namespace {
/// One plan and what is predicted of it.
struct Candidate {
  Options options;
  std::string name;
  /// Why it cannot be taken; empty: it can.
  std::string refused;
  double seconds = 0, transferSeconds = 0, bytesSent = 0;
  int64_t peak = 0;
};
} // namespace

static std::string nameOf(const Options &options) {
  std::string name = ::dist::tools::formatStrategies(options.strategies);
  if (!options.mesh.empty())
    name += " on " + ::dist::tools::formatMesh(options.mesh);
  return name;
}

/// Every row of the strategies' table and their compositions, for each way to
/// arrange the devices as data x model.
static std::vector<Candidate> listCandidates(const Options &options) {
  std::vector<Candidate> list;
  auto add = [&](std::vector<Strategy> strategies, int64_t data,
                 int64_t model) {
    Candidate candidate;
    candidate.options = options;
    candidate.options.strategies = std::move(strategies);
    candidate.options.savePlan.clear();
    if (data > 1)
      candidate.options.mesh.emplace_back("data", data);
    if (model > 1)
      candidate.options.mesh.emplace_back("model", model);
    if (data * model == 1)
      candidate.options.devices.resize(1);
    candidate.name = nameOf(candidate.options);
    list.push_back(std::move(candidate));
  };
  add({{"one-device", {}}}, 1, 1);
  int64_t devices = options.devices.size();
  for (int64_t model = 1; model <= devices; ++model) {
    if (devices % model || devices == 1)
      continue;
    int64_t data = devices / model;
    std::vector<Strategy> split;
    if (model > 1)
      split.push_back({"tensor-split", {}});
    auto with = [&](Strategy last) {
      std::vector<Strategy> all = split;
      all.push_back(std::move(last));
      return all;
    };
    if (data == 1) {
      add(split, data, model);
      continue;
    }
    add(with({"mirrored", {}}), data, model);
    if (model == 1)
      add({{"central-storage", {}}}, data, model);
    for (const char *stage : {"1", "2", "3"})
      add(with({"zero", {{"stage", stage}}}), data, model);
  }
  return list;
}

static void weigh(Candidate &candidate, const DialectRegistry &registry) {
  const Options &options = candidate.options;
  Compilation compilation(options, registry, &candidate.refused);
  std::optional<ExplainReport> report = compilation.predict();
  if (!report) {
    if (candidate.refused.empty())
      candidate.refused = "it cannot be compiled";
    return;
  }
  // A step is one batch; with accumulation every k-th has an update, too.
  StringRef partial = compilation.usesPartialBatch() ? "_partial" : "";
  for (const EntryReport &entry : report->entries) {
    double share = 0;
    if (options.loss.empty())
      share = entry.entry == "predict";
    else if (options.accumulate > 1)
      share = entry.entry == ("gradients" + partial).str() ? 1
              : entry.entry == "apply" ? 1.0 / options.accumulate
                                       : 0;
    else
      share = entry.entry == ("train_step" + partial).str();
    candidate.seconds += share * entry.predictedSeconds;
    candidate.transferSeconds += share * entry.predictedTransferSeconds;
    for (const TransferRow &row : entry.transfers)
      candidate.bytesSent += share * row.bytesSent;
    if (share > 0 && !entry.onHost)
      candidate.peak = std::max(candidate.peak, entry.memory.peak);
  }
  if (double limit = options.memoryLimitGiB * (1 << 30);
      limit > 0 && candidate.peak > limit)
    candidate.refused = llvm::formatv("needs {0:F3} GiB of each device",
                                      double(candidate.peak) / (1 << 30))
                            .str();
}

static void print(const std::vector<Candidate> &list, const Candidate &best,
                  const Candidate *next, llvm::raw_ostream &os) {
  os << "strategies weighed (predicted, a step):\n";
  for (const Candidate &one : list) {
    os << (&one == &best ? "* " : "  ") << llvm::formatv("{0,-44}", one.name);
    if (one.peak > 0)
      os << llvm::formatv(
          "{0,10:F3} ms, transfers {1,9:F3} ms, {2,9:F2} MiB sent, peak "
          "{3,9:F2} MiB",
          one.seconds * 1e3, one.transferSeconds * 1e3,
          one.bytesSent / (1 << 20), double(one.peak) / (1 << 20));
    if (!one.refused.empty())
      os << (one.peak > 0 ? "; " : "") << "not possible: " << one.refused;
    os << "\n";
  }
  os << "chosen: " << best.name;
  if (next)
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
  return ::dist::writeFile(path, text);
}

int mlir::dist::chooseStrategy(Options &options,
                               const DialectRegistry &registry) {
  std::vector<Candidate> list = listCandidates(options);
  for (Candidate &candidate : list)
    weigh(candidate, registry);
  const Candidate *best = nullptr, *next = nullptr;
  for (const Candidate &one : list) {
    if (!one.refused.empty())
      continue;
    if (!best || one.seconds < best->seconds) {
      next = best;
      best = &one;
    } else if (!next || one.seconds < next->seconds) {
      next = &one;
    }
  }
  if (!best) {
    // One device is the case that says what is wrong with the model itself.
    const Candidate &plain = list.front();
    if (plain.peak == 0 || options.memoryLimitGiB <= 0)
      return Compilation(plain.options, registry).run();
    return reportError(Status::error(StatusCode::InvalidInput,
                                     "no strategy fits", "--strategy auto",
                                     "on one device it " + plain.refused +
                                         ", and no other needs less than "
                                         "--memory-limit",
                                     "give more devices or a higher limit"));
  }
  print(list, *best, next,
        options.explain == "table" ? llvm::outs() : llvm::errs());
  std::string plan = options.savePlan;
  options = Options(best->options);
  if (!plan.empty())
    if (Status status = save(options, plan); !status.ok())
      return reportError(status);
  return 0;
}
