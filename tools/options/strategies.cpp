//===- strategies.cpp - What strategies there are, and which go together --===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/strategies.h"
#include "tools/options/strategies/row.h"
#include <algorithm>

namespace dist::tools {

const std::vector<StrategyRow> &strategyTable() {
  static const std::vector<StrategyRow> rows = {oneDeviceStrategy(),
                                                mirroredStrategy(),
                                                multiWorkerMirroredStrategy(),
                                                zeroStrategy(),
                                                centralStorageStrategy(),
                                                parameterServerStrategy(),
                                                tensorSplitStrategy(),
                                                pipelineStrategy(),
                                                autoStrategy()};
  return rows;
}

const StrategyRow *findStrategy(const std::string &name) {
  for (const StrategyRow &row : strategyTable())
    if (name == row.name)
      return &row;
  return nullptr;
}

const std::vector<std::string> &strategyNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const StrategyRow &row : strategyTable())
      all.push_back(row.name);
    return all;
  }();
  return names;
}

bool uses(const Options &options, const char *strategy) {
  return std::any_of(options.strategies.begin(), options.strategies.end(),
                     [&](const Strategy &one) { return one.name == strategy; });
}

bool hasServers(const Options &options) {
  return std::any_of(
      options.strategies.begin(), options.strategies.end(),
      [](const Strategy &one) { return findStrategy(one.name)->hasServers; });
}

bool hasProcesses(const Options &options) {
  return std::any_of(
      options.strategies.begin(), options.strategies.end(),
      [](const Strategy &one) { return findStrategy(one.name)->hasProcesses; });
}

std::vector<const RefusedRow *> refusedTable() {
  std::vector<const RefusedRow *> all;
  for (const StrategyRow &row : strategyTable())
    for (const RefusedRow &refused : row.refused)
      all.push_back(&refused);
  for (const RefusedRow &refused : generalRefusals())
    all.push_back(&refused);
  return all;
}

static Status refuse(const std::string &where, const std::string &why,
                     const std::string &todo) {
  return Status::error(StatusCode::InvalidArgument, "this cannot be combined",
                       where, why, todo);
}

/// Without --mesh all devices form the one axis that the strategies work on,
/// those of several processes with the axis `host` before it.
static Status chooseMesh(const Options &options, std::vector<std::string> axes,
                         StrategyPlan *plan) {
  int64_t devices = options.devices.size();
  if (!options.mesh.empty()) {
    plan->mesh = options.mesh;
    return Status();
  }
  std::string before;
  if (hasProcesses(options)) {
    before = "host=" + std::to_string(plan->workers);
    axes.erase(std::remove(axes.begin(), axes.end(), "host"), axes.end());
    if (plan->workers > 1)
      plan->mesh = {{"host", plan->workers}};
    // Alone it splits the batch over each worker's devices, too. One of a
    // single position is no axis that another could split over.
    if (axes.empty() && (devices > 1 || plan->workers == 1))
      axes = {"data"};
    else if (axes == std::vector<std::string>{"data"} && devices == 1 &&
             plan->workers > 1)
      axes.clear();
  }
  if (axes.empty())
    return Status();
  if (axes.size() > 1) {
    std::string example = before;
    for (const std::string &axis : axes)
      example += (example.empty() ? "" : ",") + axis + "=N";
    return Status::error(StatusCode::InvalidArgument, "no mesh was given",
                         "--strategy " + plan->name,
                         "its strategies work on several axes",
                         "add --mesh " + example);
  }
  plan->mesh.emplace_back(axes.front(), devices);
  return Status();
}

/// A worker's devices are a block of the mesh: whole axes from the last on, and
/// of the next an equal part.
static Status placeProcesses(const Options &options, StrategyPlan *plan) {
  auto refuse = [&](const std::string &why, const std::string &todo) {
    return Status::error(StatusCode::InvalidArgument,
                         "the mesh does not fit the workers", "--mesh", why,
                         todo);
  };
  int64_t devices = options.devices.size(), left = devices;
  for (auto axis = plan->mesh.rbegin(); axis != plan->mesh.rend(); ++axis) {
    auto [name, size] = *axis;
    if (left % size == 0) {
      left /= size;
      continue;
    }
    if (size % left != 0)
      return refuse("axis '" + name + "' has " + std::to_string(size) +
                        " positions, and of a worker's " +
                        std::to_string(devices) + " devices " +
                        std::to_string(left) + " are left for it",
                    "make one divide the other");
    plan->processes.emplace_back(name, size / left);
    left = 1;
  }
  std::reverse(plan->processes.begin(), plan->processes.end());
  for (const auto &[name, size] : plan->mesh)
    if (name == "host" &&
        (size != plan->workers || plan->mesh[0].first != name))
      return refuse("axis 'host' is of the " + std::to_string(plan->workers) +
                        " workers",
                    "begin it with host=" + std::to_string(plan->workers));
  return Status();
}

/// Which places have weights, and that each has one.
static Status chooseWeights(const Options &options, StrategyPlan *plan) {
  const std::vector<int64_t> &weights = options.deviceWeights;
  if (weights.empty())
    return Status();
  if (plan->dataAxes.size() != 1)
    return refuse("--device-weights with several axes that split the batch",
                  "weights are of the positions along one axis",
                  "add --mesh data=" + std::to_string(plan->replicas));
  const std::string &axis = plan->dataAxes.front();
  if (plan->mesh.front().first != axis)
    return refuse("--device-weights with a mesh whose first axis is not '" +
                      axis + "'",
                  "ranks of one program stand together",
                  "write " + axis + "=N first in --mesh");
  if (int64_t(weights.size()) != plan->replicas)
    return Status::error(
        StatusCode::InvalidArgument, "the weights do not fit the devices",
        "--device-weights",
        "axis '" + axis + "' has " + std::to_string(plan->replicas) +
            " positions, but " + std::to_string(weights.size()) +
            " weights were given",
        "give one integer a position");
  // Equal ones say nothing: one program for all is smaller.
  if (std::any_of(weights.begin(), weights.end(),
                  [&](int64_t weight) { return weight != weights.front(); }))
    plan->weights = weights;
  return Status();
}

std::string formatStrategies(const std::vector<Strategy> &strategies) {
  std::string text;
  for (const Strategy &strategy : strategies) {
    text += (text.empty() ? "" : ",") + strategy.name;
    // The first key follows a colon, the others belong to the same strategy.
    const char *before = ":";
    for (const auto &[key, value] : strategy.keys) {
      text += before + key + "=" + value;
      before = ",";
    }
  }
  return text;
}

std::string
formatMesh(const std::vector<std::pair<std::string, int64_t>> &mesh) {
  std::string text;
  for (const auto &[axis, size] : mesh)
    text += (text.empty() ? "" : ",") + axis + "=" + std::to_string(size);
  return text;
}

/// Whether some `--split REGEX=DIM:AXIS[:(PRE)SIZE][@N]` splits over the axis.
static bool isNamedByRule(const Options &options, const std::string &axis) {
  return std::any_of(
      options.split.begin(), options.split.end(), [&](const std::string &rule) {
        size_t begin = rule.find(':', rule.rfind('=')) + 1;
        return begin && rule.substr(begin, rule.find_first_of(":@", begin) -
                                               begin) == axis;
      });
}

namespace {

/// Which axis of the mesh is for what, and whether all that need one have it.
class AxisUses {
public:
  AxisUses(const Options &options, std::vector<std::string> axes,
           StrategyPlan *plan)
      : options(options), axes(std::move(axes)), plan(plan) {}

  Status assign();
  Status check() const;

private:
  bool uses(const char *axis) const {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  }
  /// Whether the batch is split over what is no other's axis.
  bool splitsBatch() const { return uses("data") || uses("host"); }
  Status assignStages(const std::string &axis, int64_t size);
  Status lacks(const std::string &why, const char *todo) const {
    return Status::error(StatusCode::InvalidArgument, "the mesh lacks an axis",
                         "--mesh", why, todo);
  }

  const Options &options;
  /// Those that the strategies ask for.
  std::vector<std::string> axes;
  StrategyPlan *plan;
};

} // namespace

Status AxisUses::assignStages(const std::string &axis, int64_t size) {
  auto pipeline =
      std::find_if(options.strategies.begin(), options.strategies.end(),
                   [](const Strategy &one) { return one.name == "pipeline"; });
  auto getKey = [&](const char *name, int64_t missing) {
    auto found = pipeline->keys.find(name);
    return found == pipeline->keys.end() ? missing : std::stoll(found->second);
  };
  plan->stageAxis = axis;
  plan->stages = size;
  if (getKey("stages", size) != size)
    return Status::error(
        StatusCode::InvalidArgument, "the stages do not fit the devices",
        "--strategy " + plan->name,
        "axis '" + axis + "' has " + std::to_string(size) + " positions",
        "make stages equal to it");
  plan->microbatches = getKey("microbatches", size);
  plan->chunks = getKey("chunks", 1);
  auto schedule = pipeline->keys.find("schedule");
  plan->schedule = schedule != pipeline->keys.end() ? schedule->second
                   : plan->chunks > 1               ? "interleaved"
                                                    : "1f1b";
  return Status();
}

Status AxisUses::assign() {
  for (const auto &[axis, size] : plan->mesh) {
    plan->ranks *= size;
    // The model's and the stages' axes have these names, unless they are alone.
    bool alone = plan->mesh.size() == 1 && axes.size() == 1;
    if (uses("model") && (axis == "model" || alone)) {
      plan->modelAxis = axis;
    } else if (uses("stage") && (axis == "stage" || alone)) {
      DIST_RETURN_IF_ERROR(assignStages(axis, size));
    } else if (uses("model") && axis != "data" &&
               isNamedByRule(options, axis)) {
      plan->ruleAxes.push_back(axis);
    } else if (splitsBatch()) {
      plan->dataAxes.push_back(axis);
      plan->replicas *= size;
    } else {
      return Status::error(
          StatusCode::InvalidArgument, "an axis of the mesh has no use",
          "--mesh " + axis,
          "--strategy " + plan->name + " does not split over it",
          uses("model")   ? "add mirrored, name it in a --split rule, or leave "
                            "the axis out"
          : uses("stage") ? "add mirrored, or leave the axis out"
                          : "choose --strategy mirrored");
    }
  }
  if (uses("model") && plan->modelAxis.empty() && !plan->ruleAxes.empty())
    plan->modelAxis = plan->ruleAxes.front();
  return Status();
}

Status AxisUses::check() const {
  if (uses("model") && plan->modelAxis.empty())
    return lacks("tensor-split works on the axis 'model'", "add model=N");
  if (uses("stage") && plan->stageAxis.empty())
    return lacks("pipeline works on the axis 'stage'", "add stage=N");
  if (!plan->stageAxis.empty() && isNamedByRule(options, plan->stageAxis))
    return refuse("--split over '" + plan->stageAxis + "'",
                  "the pipeline cuts the model into stages there",
                  "name '" + plan->modelAxis + "' in the rule");
  if (uses("data") && plan->dataAxes.empty())
    return lacks("--strategy " + plan->name + " splits the batch",
                 "add data=N");
  return Status();
}

/// Whether there is a device for each position in the mesh.
static Status checkDevices(const Options &options, const StrategyPlan &plan) {
  int64_t devices = options.devices.size() * plan.workers;
  if (plan.mesh.empty() || plan.ranks == devices)
    return Status();
  if (!options.planFile.empty())
    return Status::error(StatusCode::InvalidArgument,
                         "the plan does not fit the devices", options.planFile,
                         "it is for " + std::to_string(plan.ranks) +
                             " devices, not " + std::to_string(devices),
                         "leave --devices out, or make another with --strategy "
                         "auto --save-plan");
  return Status::error(
      StatusCode::InvalidArgument, "the mesh does not fit the devices",
      "--mesh",
      "it has " + std::to_string(plan.ranks) + " positions for " +
          std::to_string(devices) + " devices" +
          (plan.workers > 1 ? " of " + std::to_string(plan.workers) + " workers"
                            : std::string()),
      "make the product of its axes equal");
}

Status planStrategies(const Options &options, StrategyPlan *plan) {
  plan->name = formatStrategies(options.strategies);
  std::vector<std::string> axes;
  for (const Strategy &strategy : options.strategies) {
    const StrategyRow *row = findStrategy(strategy.name);
    if (*row->axis &&
        std::find(axes.begin(), axes.end(), row->axis) == axes.end())
      axes.push_back(row->axis);
  }
  for (const RefusedRow *row : refusedTable())
    if (row->applies(options))
      return refuse(row->what, row->why, row->todo);
  if (hasProcesses(options))
    plan->workers = options.workers;
  if (hasServers(options))
    plan->servers = options.servers;
  DIST_RETURN_IF_ERROR(chooseMesh(options, axes, plan));
  AxisUses uses(options, std::move(axes), plan);
  DIST_RETURN_IF_ERROR(uses.assign());
  DIST_RETURN_IF_ERROR(uses.check());
  DIST_RETURN_IF_ERROR(checkDevices(options, *plan));
  if (hasProcesses(options))
    DIST_RETURN_IF_ERROR(placeProcesses(options, plan));
  return chooseWeights(options, plan);
}

std::string strategyGuide() {
  std::string text;
  size_t width = 0;
  for (const std::string &name : strategyNames())
    width = std::max(width, name.size() + 1);
  auto line = [&](const std::string &name, const std::string &rest) {
    std::string padded = name;
    padded.resize(width, ' ');
    text += padded + rest + "\n";
  };
  for (const StrategyRow &row : strategyTable()) {
    line(row.name, row.what);
    line("", std::string("use it when ") + row.when);
    line("", std::string("costs: ") + row.cost + "; limits: " + row.limits);
    line("", std::string("elsewhere: ") + row.elsewhere);
    for (const StrategyRow::Key &key : row.keys) {
      std::string values;
      for (const std::string &value : key.values)
        values += (values.empty() ? "" : "|") + value;
      line("", std::string(key.name) + "=" + (values.empty() ? "N" : values) +
                   ": " + key.what);
    }
  }
  text +=
      "\nStrategies joined by commas are applied in that order; --mesh names "
      "the axes.\nRefused:\n";
  for (const RefusedRow *row : refusedTable())
    line("", std::string(row->what) + ": " + row->why + "; " + row->todo);
  return text;
}

} // namespace dist::tools
