//===- strategies.cpp - What strategies there are, and which go together --===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/strategies.h"
#include <algorithm>

namespace dist::tools {

const std::vector<StrategyRow> &strategyTable() {
  static const std::vector<StrategyRow> rows = {
      {"one-device",
       "everything on one device",
       "the model fits and one device's cores are all there is",
       "no transfers",
       "one device",
       "tf.distribute OneDeviceStrategy; PyTorch and JAX: no wrapper",
       "",
       {}},
      {"mirrored",
       "a copy of the variables on each device, the batch split; gradients are "
       "all-reduced",
       "steps are long next to the all-reduce, and the variables fit a device",
       "2(n-1)/n x the gradients' bytes a step",
       "batch norm is per replica unless --sync-batch-norm",
       "tf.distribute MirroredStrategy; PyTorch DistributedDataParallel; JAX "
       "jit over a mesh with the batch sharded (pmap)",
       "data",
       {}},
      {"central-storage",
       "one copy of the variables, on the host; devices copy what they read "
       "once a step, the host reduces gradients and updates",
       "the variables with their optimizer slots do not fit a device, or the "
       "update must happen at one place",
       "n x the variables' bytes from the host and n x the gradients' to it a "
       "step, and devices wait while it updates",
       "batch norm is per replica unless --sync-batch-norm; variables are not "
       "split",
       "tf.distribute CentralStorageStrategy; PyTorch and JAX: none",
       "data",
       {}},
      {"tensor-split",
       "variables split by --split rules, or where the model's own patterns "
       "allow (column-then-row pairs, heads, channels)",
       "a layer's weights or activations are too large for a device, or the "
       "batch is too small to split",
       "2 all-reduces of a layer's activations a pair of layers and step",
       "dims that the axis does not divide are padded (refused where half "
       "would be padding, and with --strict-divisibility); heads are split "
       "over a part of it that divides them",
       "tf.distribute: none (DTensor layouts); PyTorch parallelize_module "
       "(tensor parallel); JAX NamedSharding of parameters",
       "model",
       {{"sequence-parallel",
         "norms and residual sums between split layers on parts of the tokens: "
         "smaller activations, sent in as many bytes; gradients of an "
         "embedding or head that is whole are then summed, too "
         "(--split-preset transformer,vocab splits them; default: false)",
         {"true", "false"}}}},
      {"zero",
       "mirrored, with optimizer slots (stage=1), gradients (2), variables (3) "
       "in shards",
       "slots or variables fill the devices' memory",
       "stages 1 and 2 as mirrored, but stage 2 of a pipeline scatters each "
       "microbatch's gradients; stage 3 half as much again",
       "variables without a dim that divides are padded; whole where half "
       "would be padding, where tensor-split has split the dim to pad, and "
       "with --strict-divisibility; shards are of the axis data alone (with "
       "host=N before it each host has all)",
       "tf.distribute: none; PyTorch ZeroRedundancyOptimizer (stage=1), FSDP "
       "SHARD_GRAD_OP (2), FULL_SHARD (3); JAX: parameters sharded over the "
       "data axis",
       "data",
       {{"stage", "what is kept in shards", {"1", "2", "3"}}}},
      {"pipeline",
       "the model in stages, each on devices of its own, that pass "
       "microbatches "
       "on",
       "the variables fill a device, and links are too slow for tensor-split",
       "the activations at the cuts, twice a step; stages wait at its start "
       "and "
       "end: (stages-1)/(microbatches+stages-1) of it",
       "as many ops with parameters as stages (with chunks: as chunks of all); "
       "batch norm is per microbatch "
       "unless --sync-batch-norm",
       "tf.distribute: none; PyTorch torch.distributed.pipelining; JAX: by "
       "hand, with shard_map",
       "stage",
       {{"stages", "stages of the pipeline (default: the devices)", {}},
        {"microbatches",
         "parts of a replica's batch (default: the stages)",
         {}},
        {"chunks", "chunks of the model a stage has, for interleaved", {}},
        {"schedule",
         "the order of the stages' work (default: 1f1b, with chunks "
         "interleaved)",
         {"gpipe", "1f1b", "interleaved"}}}},
      {"auto",
       "the fastest of all these, by the predicted step, of those that fit "
       "--memory-limit",
       "you do not know; what it weighed is printed, and it may well answer "
       "one-device",
       "a compilation to the program of one rank for each candidate",
       "predictions are as good as bench --calibrate made them",
       "none of them; PyTorch autoparallel and Alpa are near it",
       "",
       {}},
  };
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

static int64_t count(const Options &options, const char *name) {
  return std::count_if(options.strategies.begin(), options.strategies.end(),
                       [&](const Strategy &one) { return one.name == name; });
}

std::string getZeroStage(const Strategy &strategy) {
  if (strategy.name != "zero")
    return "";
  auto stage = strategy.keys.find("stage");
  return stage == strategy.keys.end() ? "1" : stage->second;
}

/// Whether zero runs at that stage.
static bool hasStage(const Options &options, const char *number) {
  return std::any_of(
      options.strategies.begin(), options.strategies.end(),
      [&](const Strategy &one) { return getZeroStage(one) == number; });
}

const std::vector<RefusedRow> &refusedTable() {
  static const std::vector<RefusedRow> rows = {
      {"one-device with another strategy",
       [](const Options &o) {
         return count(o, "one-device") && o.strategies.size() > 1;
       },
       "one-device splits nothing", "leave it out"},
      {"a strategy twice",
       [](const Options &o) {
         return std::any_of(o.strategies.begin(), o.strategies.end(),
                            [&](const Strategy &one) {
                              return count(o, one.name.c_str()) > 1;
                            });
       },
       "a strategy is given twice", "give it once, with all its keys"},
      {"zero before tensor-split",
       [](const Options &o) {
         auto find = [&](const char *name) {
           return std::find_if(
               o.strategies.begin(), o.strategies.end(),
               [&](const Strategy &one) { return one.name == name; });
         };
         return count(o, "tensor-split") && find("zero") < find("tensor-split");
       },
       "zero shards what the others have left whole",
       "write tensor-split,zero:stage=N"},
      {"auto with another strategy or a mesh",
       [](const Options &o) {
         return count(o, "auto") &&
                (o.strategies.size() > 1 || !o.mesh.empty());
       },
       "auto chooses them", "leave them out"},
      {"central-storage with another strategy",
       [](const Options &o) {
         return count(o, "central-storage") && o.strategies.size() > 1;
       },
       "the host has the one copy of each variable, whole",
       "leave one of them out"},
      {"pipeline with zero:stage=3",
       [](const Options &o) {
         return count(o, "pipeline") && hasStage(o, "3");
       },
       "each microbatch would gather the variables again",
       "write zero:stage=1 or 2"},
      {"--save-plan without auto",
       [](const Options &o) {
         return !o.savePlan.empty() && !count(o, "auto");
       },
       "the plan is what auto has chosen", "add --strategy auto"},
      {"one-device with several --devices",
       [](const Options &o) {
         return count(o, "one-device") && o.devices.size() > 1;
       },
       "one-device runs on one device", "add --strategy mirrored"},
      {"--all-reduce nccl",
       [](const Options &o) { return o.allReduce == "nccl"; },
       "this build has no communicator for GPUs",
       "give auto, ring, hierarchical or reduce-to-one"},
      {"--all-reduce hierarchical with a mesh of one axis",
       [](const Options &o) {
         return o.allReduce == "hierarchical" &&
                std::count_if(
                    o.mesh.begin(), o.mesh.end(),
                    [](const auto &axis) { return axis.second > 1; }) < 2;
       },
       "each level is an axis", "add --mesh host=N,data=M"},
      {"--compress with tensor-split, pipeline or zero:stage=3",
       [](const Options &o) {
         return !o.compress.empty() &&
                (count(o, "tensor-split") || count(o, "pipeline") ||
                 hasStage(o, "3"));
       },
       "what is left of a gradient is kept whole on each rank",
       "use mirrored, or zero:stage=1 or 2"},
      {"--compress with central-storage",
       [](const Options &o) {
         return !o.compress.empty() && count(o, "central-storage");
       },
       "only sums that devices make among themselves are compressed, and the "
       "host makes them there",
       "use mirrored, or zero:stage=1 or 2"},
      {"--compress with auto",
       [](const Options &o) { return !o.compress.empty() && count(o, "auto"); },
       "auto weighs strategies without it",
       "use mirrored, or zero:stage=1 or 2"},
      {"--compress without a strategy that splits the batch",
       [](const Options &o) {
         return !o.compress.empty() && !count(o, "mirrored") &&
                !count(o, "zero");
       },
       "only sums of gradients are compressed", "add --strategy mirrored"},
      {"--compress int8, topk or powersgd with zero",
       [](const Options &o) {
         return count(o, "zero") && !o.compress.empty() &&
                o.compress != "f16" && o.compress != "bf16";
       },
       "they gather, where zero scatters", "use bf16 or f16"},
      {"--compress with --accumulate and zero:stage=2",
       [](const Options &o) {
         return !o.compress.empty() && o.accumulate > 1 && hasStage(o, "2");
       },
       "every batch's gradients would be scattered, uncompressed",
       "use zero:stage=1"},
      {"--compress with --precision f16",
       [](const Options &o) {
         return !o.compress.empty() && o.precision == "f16";
       },
       "what is left would be in units of a loss scale that changes",
       "use --precision bf16"},
      {"--device-weights without a strategy that splits the batch",
       [](const Options &o) {
         return !o.deviceWeights.empty() && !count(o, "mirrored") &&
                !count(o, "zero") && !count(o, "central-storage") &&
                !count(o, "pipeline") && !count(o, "auto");
       },
       "they are parts of the batch", "add --strategy mirrored"},
      {"--device-weights with central-storage, pipeline or auto",
       [](const Options &o) {
         return !o.deviceWeights.empty() &&
                (count(o, "central-storage") || count(o, "pipeline") ||
                 count(o, "auto"));
       },
       "their programs and predictions are those of equal devices",
       "use mirrored or zero"},
      {"--device-weights with --compress",
       [](const Options &o) {
         return !o.deviceWeights.empty() && !o.compress.empty();
       },
       "what is left of a gradient is kept by ranks of one program",
       "leave one of them out"},
      {"--device-weights with --strict-divisibility",
       [](const Options &o) {
         return !o.deviceWeights.empty() && o.strictDivisibility;
       },
       "that asks for equal parts", "leave one of them out"},
      {"--split without tensor-split",
       [](const Options &o) {
         return !o.split.empty() && !count(o, "tensor-split") &&
                !count(o, "auto");
       },
       "--split splits variables, which only tensor-split does",
       "add --strategy tensor-split"},
      {"--recompute without a loss",
       [](const Options &o) { return !o.recompute.empty() && o.loss.empty(); },
       "only training has a backward pass", "add --loss"},
      {"--split-preset without tensor-split",
       [](const Options &o) {
         return !o.splitPreset.empty() && !count(o, "tensor-split") &&
                !count(o, "auto");
       },
       "--split-preset is tensor-split's", "add --strategy tensor-split"},
  };
  return rows;
}

static Status refuse(const std::string &where, const std::string &why,
                     const std::string &todo) {
  return Status::error(StatusCode::InvalidArgument, "this cannot be combined",
                       where, why, todo);
}

/// Without --mesh all devices form the one axis that the strategies work on.
static Status chooseMesh(const Options &options,
                         const std::vector<std::string> &axes,
                         StrategyPlan *plan) {
  int64_t devices = options.devices.size();
  if (!options.mesh.empty()) {
    plan->mesh = options.mesh;
    return Status();
  }
  if (axes.empty())
    return Status();
  if (axes.size() > 1) {
    std::string example;
    for (const std::string &axis : axes)
      example += (example.empty() ? "" : ",") + axis + "=N";
    return Status::error(StatusCode::InvalidArgument, "no mesh was given",
                         "--strategy " + plan->name,
                         "its strategies work on several axes",
                         "add --mesh " + example);
  }
  plan->mesh = {{axes.front(), devices}};
  return Status();
}

/// Which places have weights, and that each has one.
static Status chooseWeights(const Options &options, StrategyPlan *plan) {
  const std::vector<int64_t> &weights = options.deviceWeights;
  if (weights.empty())
    return Status();
  if (plan->dataAxes.size() != 1)
    return refuse("--device-weights with several axes that split the batch",
                  "weights are of the places along one axis",
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
            " places, but " + std::to_string(weights.size()) +
            " weights were given",
        "give one integer a place");
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

Status planStrategies(const Options &options, StrategyPlan *plan) {
  plan->name = formatStrategies(options.strategies);
  std::vector<std::string> axes;
  for (const Strategy &strategy : options.strategies) {
    const StrategyRow *row = findStrategy(strategy.name);
    if (*row->axis &&
        std::find(axes.begin(), axes.end(), row->axis) == axes.end())
      axes.push_back(row->axis);
  }
  for (const RefusedRow &row : refusedTable())
    if (row.applies(options))
      return refuse(row.what, row.why, row.todo);
  DIST_RETURN_IF_ERROR(chooseMesh(options, axes, plan));
  auto uses = [&](const char *axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  auto pipeline =
      std::find_if(options.strategies.begin(), options.strategies.end(),
                   [](const Strategy &one) { return one.name == "pipeline"; });
  auto getKey = [&](const char *name, int64_t missing) {
    auto found = pipeline->keys.find(name);
    return found == pipeline->keys.end() ? missing : std::stoll(found->second);
  };
  for (const auto &[axis, size] : plan->mesh) {
    plan->ranks *= size;
    // The model's and the stages' axes have these names, unless they are alone.
    bool alone = plan->mesh.size() == 1 && axes.size() == 1;
    if (uses("model") && (axis == "model" || alone)) {
      plan->modelAxis = axis;
    } else if (uses("stage") && (axis == "stage" || alone)) {
      plan->stageAxis = axis;
      plan->stages = size;
      if (getKey("stages", size) != size)
        return Status::error(
            StatusCode::InvalidArgument, "the stages do not fit the devices",
            "--strategy " + plan->name,
            "axis '" + axis + "' has " + std::to_string(size) + " places",
            "make stages equal to it");
      plan->microbatches = getKey("microbatches", size);
      plan->chunks = getKey("chunks", 1);
      auto schedule = pipeline->keys.find("schedule");
      plan->schedule = schedule != pipeline->keys.end() ? schedule->second
                       : plan->chunks > 1               ? "interleaved"
                                                        : "1f1b";
    } else if (uses("model") && axis != "data" &&
               isNamedByRule(options, axis)) {
      plan->ruleAxes.push_back(axis);
    } else if (uses("data")) {
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
  if (uses("model") && plan->modelAxis.empty())
    return Status::error(StatusCode::InvalidArgument, "the mesh lacks an axis",
                         "--mesh", "tensor-split works on the axis 'model'",
                         "add model=N");
  if (uses("stage") && plan->stageAxis.empty())
    return Status::error(StatusCode::InvalidArgument, "the mesh lacks an axis",
                         "--mesh", "pipeline works on the axis 'stage'",
                         "add stage=N");
  if (!plan->stageAxis.empty() && isNamedByRule(options, plan->stageAxis))
    return refuse("--split over '" + plan->stageAxis + "'",
                  "the pipeline cuts the model into stages there",
                  "name '" + plan->modelAxis + "' in the rule");
  if (uses("data") && plan->dataAxes.empty())
    return Status::error(
        StatusCode::InvalidArgument, "the mesh lacks an axis", "--mesh",
        "--strategy " + plan->name + " splits the batch", "add data=N");
  int64_t devices = options.devices.size();
  if (!plan->mesh.empty() && plan->ranks != devices &&
      !options.planFile.empty())
    return Status::error(StatusCode::InvalidArgument,
                         "the plan does not fit the devices", options.planFile,
                         "it is for " + std::to_string(plan->ranks) +
                             " devices, not " + std::to_string(devices),
                         "leave --devices out, or make another with --strategy "
                         "auto --save-plan");
  if (!plan->mesh.empty() && plan->ranks != devices)
    return Status::error(StatusCode::InvalidArgument,
                         "the mesh does not fit the devices", "--mesh",
                         "it has " + std::to_string(plan->ranks) +
                             " places for " + std::to_string(devices) +
                             " devices",
                         "make the product of its axes equal");
  return chooseWeights(options, plan);
}

std::string strategyGuide() {
  std::string text;
  auto line = [&](const std::string &name, const std::string &rest) {
    std::string padded = name;
    // As wide as the longest name.
    padded.resize(16, ' ');
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
  for (const RefusedRow &row : refusedTable())
    line("", std::string(row.what) + ": " + row.why + "; " + row.todo);
  return text;
}

} // namespace dist::tools
