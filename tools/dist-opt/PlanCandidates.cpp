//===- PlanCandidates.cpp - What --strategy auto weighs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/PlanCandidates.h"
#include "tools/dist-opt/Compilation.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>

using namespace mlir;
using namespace mlir::dist;
using ::dist::tools::Options;
using ::dist::tools::Strategy;

std::string mlir::dist::nameOf(const Options &options) {
  std::string name = ::dist::tools::formatStrategies(options.strategies);
  if (!options.mesh.empty())
    name += " on " + ::dist::tools::formatMesh(options.mesh);
  return name;
}

namespace {
/// How many devices each axis has.
struct Arrangement {
  int64_t data, stage, model;
};

class Lister {
public:
  explicit Lister(const Options &options)
      : options(options),
        batch(options.batchSize.global(int64_t(options.devices.size()))) {
    if (batch == 0)
      batch = 32; // What the compiler takes then.
  }
  std::vector<Candidate> run();

private:
  void add(std::vector<Strategy> strategies, Arrangement sizes);
  void addAll(Arrangement sizes);

  const Options &options;
  int64_t batch;
  std::vector<Candidate> list;
};
} // namespace

void Lister::add(std::vector<Strategy> strategies, Arrangement sizes) {
  Candidate candidate;
  candidate.options = options;
  candidate.options.strategies = std::move(strategies);
  candidate.options.savePlan.clear();
  if (sizes.data > 1)
    candidate.options.mesh.emplace_back("data", sizes.data);
  if (sizes.stage > 1)
    candidate.options.mesh.emplace_back("stage", sizes.stage);
  if (sizes.model > 1)
    candidate.options.mesh.emplace_back("model", sizes.model);
  if (candidate.options.mesh.empty())
    candidate.options.devices.resize(1);
  candidate.name = nameOf(candidate.options);
  list.push_back(std::move(candidate));
}

void Lister::addAll(Arrangement sizes) {
  auto [data, stage, model] = sizes;
  // With several axes there are many plans: of each kind one is enough.
  bool alone = (data > 1) + (stage > 1) + (model > 1) == 1;
  // What the strategies over the batch are composed with.
  std::vector<std::vector<Strategy>> bases(1);
  if (model > 1)
    bases.front().push_back({"tensor-split", {}});
  if (stage > 1) {
    // More microbatches wait less, and send more often.
    std::vector<Strategy> base = bases.front();
    bases.clear();
    for (int64_t times : {1, 2, 4}) {
      // Smaller than an example they cannot be.
      if (times > 1 && (!alone || data * times * stage > batch))
        continue;
      bases.push_back(base);
      bases.back().push_back(
          {"pipeline", {{"microbatches", std::to_string(times * stage)}}});
    }
  }
  for (const std::vector<Strategy> &base : bases) {
    if (data == 1) {
      add(base, sizes);
      continue;
    }
    auto with = [&](Strategy last) {
      std::vector<Strategy> all = base;
      all.push_back(std::move(last));
      add(all, sizes);
    };
    with({"mirrored", {}});
    for (const char *number : {"1", "2", "3"})
      // A pipeline would gather the shards for each microbatch; what stage 2
      // adds to stage 1 shows with accumulation.
      if ((number[0] != '3' || stage == 1) &&
          (number[0] != '2' || alone || options.accumulate > 1))
        with({"zero", {{"stage", number}}});
    // Last: all devices wait for the host, so of equals it is the worst.
    if (base.empty())
      with({"central-storage", {}});
  }
}

std::vector<Candidate> Lister::run() {
  add({{"one-device", {}}}, {1, 1, 1});
  int64_t devices = options.devices.size();
  // A pipeline is of a step; a prediction has nothing to overlap.
  for (int64_t stage = 1; stage <= (options.loss.empty() ? 1 : devices);
       ++stage)
    for (int64_t model = 1; stage * model <= devices; ++model)
      if (devices > 1 && devices % (stage * model) == 0)
        addAll({devices / (stage * model), stage, model});
  return std::move(list);
}

std::vector<Candidate> mlir::dist::listCandidates(const Options &options) {
  return Lister(options).run();
}

bool Candidate::isBetterThan(const Candidate &other) const {
  if (refused.empty() != other.refused.empty())
    return refused.empty();
  return seconds < other.seconds;
}

void mlir::dist::weigh(Candidate &candidate, const DialectRegistry &registry,
                       bool whole) {
  const Options &options = candidate.options;
  Compilation compilation(options, registry, &candidate.refused);
  std::optional<ExplainReport> report = compilation.predict(
      whole ? Compilation::Entries::All : Compilation::Entries::OfAStep);
  if (!report) {
    if (candidate.refused.empty())
      candidate.refused = "it cannot be compiled";
    return;
  }
  candidate.variables = compilation.getSplits();
  for (const EntryReport &entry : report->entries) {
    double share = compilation.getShareOfStep(entry.entry);
    // The stages of an entry run at the same time.
    if (entry.stage <= 0 && !entry.onHost) {
      candidate.seconds += share * entry.predictedSeconds;
      candidate.transferSeconds += share * entry.predictedTransferSeconds;
    }
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
