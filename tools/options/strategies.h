//===- strategies.h - What strategies there are, and which go together ----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each strategy is a file in strategies/; the table is made of them. The
// command line is checked against it, `--print-strategies` prints it, `auto`
// tries what its rows propose, and the driver takes the mesh from here.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_OPTIONS_STRATEGIES_H
#define TOOLS_OPTIONS_STRATEGIES_H

#include "tools/options/options.h"

namespace dist::tools {

/// A combination that is refused.
struct RefusedRow {
  const char *what; // as users would type it
  bool (*applies)(const Options &options);
  const char *why, *todo;
};

/// What `auto` plans for: the options, and the sizes of the axes that a plan
/// arranges the devices as.
struct PlanSpace {
  const Options &options;
  int64_t data, stage, model;
  int64_t batch;       // of all devices
  int64_t workers = 1; // processes, each with such devices
  /// Whether at most one of the axes has several places.
  bool isAlone() const {
    return (workers > 1) + (data > 1) + (stage > 1) + (model > 1) <= 1;
  }
};

/// A strategy with its keys, as `auto` tries it.
struct Proposal {
  Strategy strategy;
  std::string preset = ""; // of --split-preset; empty: as given
  /// A way to split a model beside another one's: only models that allow it are
  /// told of it.
  bool isVariant = false;
};

/// A strategy as users choose it.
struct StrategyRow {
  const char *name, *what, *when, *cost, *limits;
  /// What tf.distribute, PyTorch and JAX call it.
  const char *elsewhere;
  /// The mesh axis it works on: `data` (it splits the batch), `host` (the same,
  /// over processes), `model`, `stage`; empty: none.
  const char *axis;
  struct Key {
    const char *name, *what;
    std::vector<std::string> values; // empty: an integer >= 1
  };
  std::vector<Key> keys;
  /// Devices have parts of the batch in one program and sum gradients among
  /// themselves, so that sums may be compressed and parts unequal.
  bool sumsAmongDevices;
  std::vector<RefusedRow> refused;
  /// What `auto` tries where the row's axis has several places; null: nothing.
  std::vector<Proposal> (*propose)(const PlanSpace &space);
  /// Its devices are those of several processes, each of which has --devices.
  bool hasProcesses = false;
  /// Its variables are on --servers; each of its --workers is a process that
  /// has --devices, and trains by itself.
  bool hasServers = false;
};

/// Strategies that this build can compile, in the order they are shown: those
/// of one axis side by side, the simpler first, which `auto` takes where
/// another is no faster.
const std::vector<StrategyRow> &strategyTable();
const StrategyRow *findStrategy(const std::string &name);

/// All that is refused: the strategies' rows first.
std::vector<const RefusedRow *> refusedTable();

/// What strategies and devices mean together.
struct StrategyPlan {
  /// Axes of the mesh, major to minor; empty: one device.
  std::vector<std::pair<std::string, int64_t>> mesh;
  std::vector<std::string> dataAxes; // over which the batch is split
  std::string modelAxis, stageAxis;  // empty: none
  std::vector<std::string> ruleAxes; // besides, of --split rules alone
  /// Of unequal devices: the parts of the batch that the positions along the
  /// one data axis take. Empty: all are equal.
  std::vector<int64_t> weights;
  int64_t ranks = 1, replicas = 1;
  /// Processes, each with a block of the mesh of as many ranks: into how many
  /// each axis is cut, of those that are. Ranks are numbered by the mesh, but
  /// for those of stages, which are the major axis then.
  int64_t workers = 1;
  std::vector<std::pair<std::string, int64_t>> processes;
  /// Parameter servers; 0: none.
  int64_t servers = 0;
  // Of a pipeline; no stages: none.
  int64_t stages = 0, microbatches = 1, chunks = 1;
  std::string schedule;
  /// Their names as given, joined by commas.
  std::string name;
};

/// ZeRO's stage, "1" where it is not given; "": it is another strategy.
std::string getZeroStage(const Strategy &strategy);

/// As users write them: `mirrored,zero:stage=1`, `data=2,model=2`.
std::string formatStrategies(const std::vector<Strategy> &strategies);
std::string
formatMesh(const std::vector<std::pair<std::string, int64_t>> &mesh);

/// Checks what was given together and finds the mesh.
Status planStrategies(const Options &options, StrategyPlan *plan);

/// `--print-strategies`: the selection guide and what is refused, as text.
std::string strategyGuide();

} // namespace dist::tools

#endif // TOOLS_OPTIONS_STRATEGIES_H
