//===- PlanCandidates.cpp - What --strategy auto weighs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/PlanCandidates.h"
#include "tools/dist-opt/Compilation.h"
#include "tools/options/values.h"
#include <limits>

using namespace mlir;
using namespace mlir::dist;
using ::dist::tools::Options;
using ::dist::tools::Strategy;

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
/// How many devices each axis has.
struct Arrangement {
  int64_t data, stage, model;
};

/// What the strategies over the batch are composed with.
struct Base {
  std::vector<Strategy> strategies;
  std::string preset = "";
  bool isVariant = false;
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
  void add(Base plan, Arrangement sizes);
  void addAll(Arrangement sizes);
  std::vector<Base> listSplits(bool alone);

  const Options &options;
  int64_t batch;
  std::vector<Candidate> list;
};
} // namespace

void Lister::add(Base plan, Arrangement sizes) {
  Candidate candidate;
  candidate.options = options;
  candidate.options.strategies = std::move(plan.strategies);
  candidate.options.savePlan.clear();
  if (!plan.preset.empty())
    candidate.options.splitPreset = plan.preset;
  candidate.isVariant = plan.isVariant;
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

/// The ways to split a model: where its layers' patterns allow, or the
/// vocabulary (head, loss and token tables) besides; the simplest first.
std::vector<Base> Lister::listSplits(bool alone) {
  const Strategy whole = {"tensor-split", {}},
                 inParts = {"tensor-split", {{"sequence-parallel", "true"}}};
  std::vector<Base> splits = {{{whole}, ""}};
  // What the user says that is to be split is all that is.
  bool chooses = options.split.empty() && options.splitPreset.empty();
  if (chooses)
    splits.push_back({{whole}, "auto,vocab", true});
  if (alone && chooses)
    splits.push_back({{whole}, "vocab", true});
  // Norms and residual sums on parts of the tokens.
  if (alone)
    splits.push_back({{inParts}, "", true});
  if (alone && chooses)
    splits.push_back({{inParts}, "auto,vocab", true});
  return splits;
}

void Lister::addAll(Arrangement sizes) {
  auto [data, stage, model] = sizes;
  // With several axes there are many plans: of each kind one is enough.
  bool alone = (data > 1) + (stage > 1) + (model > 1) == 1;
  std::vector<Base> bases(1);
  if (model > 1)
    bases = listSplits(alone);
  if (stage > 1) {
    // More microbatches wait less, and send more often.
    std::vector<Base> splits = std::move(bases);
    bases.clear();
    for (const Base &split : splits)
      for (int64_t times : {1, 2, 4}) {
        // Smaller than an example they cannot be.
        if (times > 1 && (!alone || data * times * stage > batch))
          continue;
        bases.push_back(split);
        bases.back().strategies.push_back(
            {"pipeline", {{"microbatches", std::to_string(times * stage)}}});
      }
  }
  for (const Base &base : bases) {
    if (data == 1) {
      add(base, sizes);
      continue;
    }
    auto with = [&](Strategy last) {
      Base all = base;
      all.strategies.push_back(std::move(last));
      add(std::move(all), sizes);
    };
    with({"mirrored", {}});
    for (const char *number : {"1", "2", "3"})
      // A pipeline would gather the shards for each microbatch; what stage 2
      // adds to stage 1 shows with accumulation.
      if ((number[0] != '3' || stage == 1) &&
          (number[0] != '2' || alone || options.accumulate > 1))
        with({"zero", {{"stage", number}}});
    // Last: all devices wait for the host, so of equals it is the worst.
    if (base.strategies.empty())
      with({"central-storage", {}});
  }
}

std::vector<Candidate> Lister::run() {
  // What the user says that is to be split needs an axis.
  bool splits = !options.split.empty() || !options.splitPreset.empty();
  if (!splits)
    add({{{"one-device", {}}}}, {1, 1, 1});
  int64_t devices = options.devices.size();
  // A pipeline is of a step; a prediction has nothing to overlap.
  for (int64_t stage = 1; stage <= (options.loss.empty() ? 1 : devices);
       ++stage)
    for (int64_t model = splits ? 2 : 1; stage * model <= devices; ++model)
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
