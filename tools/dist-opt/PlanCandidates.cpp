//===- PlanCandidates.cpp - What --strategy auto weighs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/PlanCandidates.h"
#include "tools/dist-opt/Compilation.h"
#include "tools/options/strategies.h"
#include "tools/options/values.h"
#include <limits>

using namespace mlir;
using namespace mlir::dist;
using ::dist::tools::Options;
using ::dist::tools::PlanSpace;
using ::dist::tools::Proposal;
using ::dist::tools::Strategy;
using ::dist::tools::StrategyRow;

std::string mlir::dist::nameOf(const Options &options) {
  std::string name = ::dist::tools::formatStrategies(options.strategies);
  if (!options.mesh.empty())
    name += " on " + ::dist::tools::formatMesh(options.mesh);
  if (!options.split.empty())
    name += ", --split rules";
  else if (!options.splitPreset.empty())
    name += ", --split-preset " + options.splitPreset;
  return name;
}

namespace {
/// Strategies in their order, as they are composed.
struct Base {
  std::vector<Strategy> strategies;
  std::string preset = "";
  bool isVariant = false;
};

class Lister {
public:
  explicit Lister(const Options &options)
      : options(options),
        batch(options.batchSize.global(int64_t(options.devices.size()) *
                                       std::max(1, options.workers))) {
    if (batch == 0)
      batch = 32; // What the compiler takes then.
  }
  std::vector<Candidate> run();

private:
  void add(const Base &plan, const PlanSpace &space);
  void addAll(const PlanSpace &space);
  void addArrangements(int64_t workers);

  const Options &options;
  int64_t batch;
  std::vector<Candidate> list;
};
} // namespace

void Lister::add(const Base &plan, const PlanSpace &space) {
  Candidate candidate;
  candidate.options = options;
  candidate.options.strategies = plan.strategies;
  candidate.options.savePlan.clear();
  if (!plan.preset.empty())
    candidate.options.splitPreset = plan.preset;
  candidate.isVariant = plan.isVariant;
  if (space.workers > 1)
    candidate.options.mesh.emplace_back("host", space.workers);
  else
    candidate.options.workers = candidate.options.hosts = 0;
  if (space.data > 1)
    candidate.options.mesh.emplace_back("data", space.data);
  if (space.stage > 1)
    candidate.options.mesh.emplace_back("stage", space.stage);
  if (space.model > 1)
    candidate.options.mesh.emplace_back("model", space.model);
  if (space.data * space.stage * space.model == 1)
    candidate.options.devices.resize(1);
  candidate.name = nameOf(candidate.options);
  list.push_back(std::move(candidate));
}

/// Of each axis one of the strategies that work on it, in every composition.
void Lister::addAll(const PlanSpace &space) {
  std::vector<Base> bases(1);
  // Without an axis of their own, what is of the data's is along the workers.
  int64_t data = space.data > 1 ? space.data : space.workers;
  for (auto [axis, size] : {std::pair(StringRef("host"), space.workers),
                            std::pair(StringRef("model"), space.model),
                            std::pair(StringRef("stage"), space.stage),
                            std::pair(StringRef("data"), data)}) {
    if (size == 1)
      continue;
    std::vector<Base> longer;
    // The batch is split by who splits it over the workers.
    if (axis == "data" && space.workers > 1)
      longer = bases;
    for (const Base &base : bases)
      for (const StrategyRow &row : ::dist::tools::strategyTable()) {
        if (row.axis != axis || !row.propose)
          continue;
        for (Proposal &proposal : row.propose(space)) {
          longer.push_back(base);
          longer.back().strategies.push_back(std::move(proposal.strategy));
          if (!proposal.preset.empty())
            longer.back().preset = std::move(proposal.preset);
          longer.back().isVariant |= proposal.isVariant;
        }
      }
    bases = std::move(longer);
  }
  for (const Base &base : bases)
    add(base, space);
}

std::vector<Candidate> Lister::run() {
  // What the user says that is to be split needs an axis.
  bool splits = !options.split.empty() || !options.splitPreset.empty();
  if (!splits)
    add({{{"one-device", {}}}}, {options, 1, 1, 1, batch});
  addArrangements(1);
  if (options.workers > 1)
    addArrangements(options.workers);
  return std::move(list);
}

/// Every way to arrange the devices of a worker.
void Lister::addArrangements(int64_t workers) {
  bool splits = !options.split.empty() || !options.splitPreset.empty();
  int64_t devices = options.devices.size();
  for (int64_t stage = 1; stage <= devices; ++stage)
    for (int64_t model = splits ? 2 : 1; stage * model <= devices; ++model)
      if (devices * workers > 1 && devices % (stage * model) == 0)
        addAll(
            {options, devices / (stage * model), stage, model, batch, workers});
}

std::vector<Candidate> mlir::dist::listCandidates(const Options &options) {
  return Lister(options).run();
}

bool Candidate::isBetterThan(const Candidate &other) const {
  if (refused.empty() != other.refused.empty())
    return refused.empty();
  return seconds < other.seconds;
}

void mlir::dist::weigh(Candidate &candidate, TrainedModels &trained,
                       bool whole) {
  const Options &options = candidate.options;
  Compilation compilation(options, trained, &candidate.refused);
  std::optional<ExplainReport> report = compilation.predict(
      // All that is loaded takes memory, whether a step runs it or not.
      whole || options.memoryLimitGiB > 0 ? Compilation::Entries::All
                                          : Compilation::Entries::OfAStep);
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
    if (!entry.onHost)
      candidate.peak = std::max(candidate.peak, entry.memory.getNeeded());
  }
  if (double limit = options.memoryLimitGiB * (1 << 30);
      limit > 0 && candidate.peak > limit)
    candidate.refused = "needs " +
                        ::dist::tools::formatNeededGiB(candidate.peak) +
                        " of each device";
}
