//===- PipelineOptions.cpp - What a user's options mean to pipelines ------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compilation's knowledge of options: what strategy, devices and batch come to,
// and how each pipeline is told. Compilation.cpp runs them.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Portion.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/BatchRows.h"
#include "passes/Lowering/Kernels/PredictKernels.h"
#include "tools/dist-opt/Compilation.h"
#include "tools/options/values.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <numeric>

using namespace mlir;
using namespace mlir::dist;
using ::dist::Status;
using ::dist::StatusCode;

/// What the strategy and the devices mean: mesh, replicas, batch, threads.
Status Compilation::plan() {
  for (const ::dist::tools::Device &device : options.devices)
    if (device.kind != "cpu")
      return Status::error(StatusCode::InvalidArgument,
                           "no such device in this build", "--devices",
                           "'" + device.kind + "' is not supported",
                           "use cpu or cpu:N");
  if (Status status = ::dist::tools::planStrategies(options, &strategy);
      !status.ok())
    return status;
  if (Status status = checkEntries(); !status.ok())
    return status;
  // Those that share this machine's cores.
  int64_t processes = strategy.workers;
  if (strategy.servers > 0)
    processes = options.workers;
  int64_t hosts = std::max(1, options.hosts);
  int64_t devices =
      int64_t(options.devices.size()) * llvm::divideCeil(processes, hosts) +
      llvm::divideCeil(strategy.servers, hosts);
  // A microbatch is a replica that runs after another.
  replicas = strategy.replicas * strategy.microbatches;
  batch = options.batchSize.global(strategy.replicas);
  for (int64_t size : options.batchSizes)
    if (options.batchSize.value == 0)
      batch = std::max(batch, size);
  if (batch == 0 && !options.losses.empty())
    batch = 32; // Keras' default.
  paddedBatch = (batch + replicas - 1) / replicas * replicas;
  if (!strategy.weights.empty()) {
    int64_t total = std::accumulate(strategy.weights.begin(),
                                    strategy.weights.end(), int64_t(0));
    paddedBatch = batch;
    if (batch % total) {
      int64_t less = batch / total * total;
      return Status::error(
          StatusCode::InvalidArgument, "the batch cannot be split by weight",
          "--device-weights",
          "it has " + std::to_string(batch) +
              " examples, and the weights are " + std::to_string(total) +
              " together",
          "give --batch-size " +
              (less ? std::to_string(less) + " or " : std::string()) +
              std::to_string(less + total));
    }
  }
  globalBatch = batch;
  if (options.syncEvery > 0)
    leaveToWorkers();
  if (options.threads > 0)
    threads = options.threads;
  else
    threads = std::max<int64_t>(1, countUsableThreads() / devices);
  LoweringOptions lowering;
  for (const std::string &cpu : options.targetCpus)
    if (std::string why = setTargetCpu(lowering, cpu); !why.empty())
      return Status::error(StatusCode::InvalidArgument, "no code for this CPU",
                           "--target-cpu", "'" + cpu + "': " + why,
                           "use native, x86-64-v3, x86-64-v4 or a name that "
                           "llc -mcpu=help lists");
  // What is shown or run of one CPU's code would say nothing of the others'.
  bool ofOne = options.emit == "rt" || options.emit == "llvm" ||
               options.emit == "explain" || !options.explain.empty() ||
               options.check == "kernels";
  if (options.targetCpus.size() > 1 && ofOne)
    return Status::error(StatusCode::InvalidArgument,
                         "several CPUs, of which one is wanted", "--target-cpu",
                         "kernels and memory are each CPU's own", "name one");
  return Status();
}

/// ZeRO from its second stage on: whole gradients are there until their bucket
/// is reduced, not until the update reads them in each other's memory.
void Compilation::leaveToWorkers() {
  averaged = strategy.workers;
  auto &mesh = strategy.mesh;
  llvm::erase_if(mesh, [](const auto &axis) { return axis.first == "host"; });
  llvm::erase(strategy.dataAxes, "host");
  // Of a single device, too: shardings are over some mesh.
  if (mesh.empty()) {
    mesh = {{"data", 1}};
    strategy.dataAxes = {"data"};
  }
  strategy.processes.clear();
  strategy.ranks /= averaged;
  strategy.replicas /= averaged;
  replicas /= averaged;
  // Rounded down, it differs from the padded one where the global one does.
  batch /= averaged;
  paddedBatch /= averaged;
}

bool Compilation::freesGradients() const {
  return llvm::any_of(options.strategies, [](const auto &one) {
    std::string stage = ::dist::tools::getZeroStage(one);
    return !stage.empty() && stage != "1";
  });
}

LoweringOptions Compilation::loweringOptions() {
  LoweringOptions lowering;
  lowering.threads = threads;
  // plan() has checked the names.
  (void)setTargetCpu(lowering, options.targetCpus.front());
  lowering.convolution = options.convolution;
  lowering.readPeers = !freesGradients();
  ::dist::manifest::Manifest &metadata = lowering.metadata;
  metadata.set_model_name(llvm::sys::path::filename(options.model).str());
  metadata.set_strategy(strategy.name);
  metadata.set_global_batch(globalBatch);
  metadata.set_ranks(strategy.ranks * averaged);
  metadata.set_accumulate_steps(options.accumulate);
  metadata.set_producer(::dist::tools::versionText());
  for (const std::string &metric : options.metrics)
    metadata.add_metrics(metric);
  auto &map = *metadata.mutable_options();
  map["loss"] = llvm::join(options.losses, " ");
  map["sample-weights"] = options.sampleWeights;
  map["optimizer"] = options.optimizer;
  map["lr-schedule"] = options.lrSchedule;
  map["on-nonfinite"] = options.onNonfinite;
  map["precision"] = options.precision;
  map["convolution"] = options.convolution;
  for (StringRef key : {kFullBatches, kPredictFullBatches})
    if (auto why = (*module)->getAttrOfType<StringAttr>(key))
      map[key.substr(StringRef("graph.").size()).str()] = why.str();
  if (averaged > 1)
    map["sync-every"] = std::to_string(options.syncEvery);
  // Only where a run with another one would be another.
  if (module
          ->walk([](graph::RandomUniformOp) { return WalkResult::interrupt(); })
          .wasInterrupted())
    map["seed"] = std::to_string(options.seed);
  map["notes"] = joinNotes();
  map["plan"] = ::dist::tools::formatPlan(options);
  // Who gives them again asks for what the package is.
  map["arguments"] = llvm::join(options.compileArguments, "\n");
  return lowering;
}

/// What `dist-run info` and `bench` tell of the program: ops, predicted time.
void Compilation::describeCosts(LoweringOptions &lowering,
                                ExplainReport &report) {
  for (const EntryReport &entry : report.entries)
    lowering.entryFlops[entry.name] = entry.flops;
  lowering.entrySeconds = [&report](StringRef name) {
    for (const EntryReport &entry : report.entries)
      if (entry.name == name)
        return entry.predictedSeconds;
    return 0.0;
  };
  lowering.describeKernels =
      [this, &report](ModuleOp kernels, ::dist::manifest::Manifest &manifest) {
        auto &map = *manifest.mutable_options();
        predictTimes(kernels, getMachine(), report, predictKernelSeconds);
        double trainSeconds = 0, predictSeconds = 0;
        // The programs of an entry together: each says how long it takes.
        for (const EntryReport &entry : report.entries) {
          if (entry.entry == "train_step" ||
              (entry.entry == "train_step_partial" && batch != paddedBatch))
            trainSeconds = entry.predictedSeconds;
          if (entry.entry == "predict")
            predictSeconds = entry.predictedSeconds;
        }
        if (trainSeconds > 0)
          map["predicted_ms"] = std::to_string(trainSeconds * 1e3);
        if (predictSeconds > 0)
          map["predicted_predict_ms"] = std::to_string(predictSeconds * 1e3);
      };
  int64_t ops = 0;
  for (auto function : module->getOps<func::FuncOp>()) {
    auto whole = function->getAttrOfType<StringAttr>(kEntryAttr);
    // Positions with portions run the same ops.
    if (std::optional<Portion> portion = findPortion(function);
        portion && portion->position != 0)
      continue;
    if ((whole ? whole.getValue() : function.getSymName()) == "predict")
      function.walk([&](Operation *op) {
        ops += op->getName().getDialectNamespace() == "graph";
      });
  }
  (*lowering.metadata.mutable_options())["ops"] = std::to_string(ops);
}

void Compilation::fillAnnotateOptions(AnnotatePipelineOptions &annotate) {
  for (const auto &[axis, size] : strategy.mesh)
    if (axis != strategy.stageAxis)
      annotate.axes.push_back(axis + ":" + std::to_string(size));
  for (const auto &[axis, count] : strategy.processes)
    if (axis != strategy.stageAxis)
      annotate.processes.push_back(axis + ":" + std::to_string(count));
  MachineModel machine = getMachine();
  annotate.processLinkCost =
      machine.link.bytesPerSecond / machine.processLink.bytesPerSecond;
  // Also a single one: ops have shardings only over some mesh.
  if (strategy.stages > 0)
    annotate.axes.push_back(std::string(kMicrobatchAxis) + ":" +
                            std::to_string(strategy.microbatches));
  annotate.stages = strategy.stages;
  annotate.chunks = strategy.chunks;
  for (const ::dist::tools::Strategy &one : options.strategies)
    annotate.strategies.push_back(::dist::tools::formatStrategies({one}));
  for (const std::string &axis : strategy.dataAxes)
    annotate.dataAxes.push_back(axis);
  if (strategy.stages > 0)
    annotate.dataAxes.push_back(kMicrobatchAxis);
  annotate.batchParts = std::accumulate(strategy.weights.begin(),
                                        strategy.weights.end(), int64_t(0));
  if (!strategy.modelAxis.empty())
    annotate.modelAxis = strategy.modelAxis;
  for (const std::string &rule : options.split)
    annotate.split.push_back(rule);
  annotate.sources = explains();
  if (!options.splitPreset.empty())
    annotate.splitPreset = options.splitPreset;
  annotate.strictDivisibility = options.strictDivisibility;
  annotate.wholeAxes = options.wholeAxes;
}

void Compilation::fillTrainOptions(TrainPipelineOptions &train) {
  auto assign = [](auto &to, const std::vector<std::string> &from) {
    for (const std::string &text : from)
      to.push_back(text);
  };
  assign(train.losses, options.losses);
  assign(train.lossWeights, options.lossWeights);
  assign(train.classWeights, options.classWeights);
  train.sampleWeights = options.sampleWeights;
  train.lossOutput = options.lossOutput;
  train.fromLogits = options.fromLogits;
  assign(train.metrics, options.metrics);
  train.optimizer = options.optimizer;
  train.lrSchedule = options.lrSchedule;
  train.settableLr = options.settableLr;
  train.onNonfinite = options.onNonfinite;
  train.clipNorm = options.clipNorm;
  train.clipValue = options.clipValue;
  train.weightDecay = options.weightDecay.value_or(-1);
  train.accumulate = options.accumulate;
  for (const std::string &entry : options.entries)
    train.entries.push_back(entry);
  if (strategy.servers > 0) {
    train.independentUpdates = true;
    for (const char *entry : {"evaluate", "predict", "gradients", "apply"})
      train.entries.push_back(entry);
    // One device's, to compare with.
    if (!options.check.empty())
      train.entries.push_back("train");
  }
  for (const std::string &input : options.inputGradients)
    train.inputGradients.push_back(input);
  train.replicas = replicas;
  // Microbatches are cut from what a replica gets.
  SmallVector<int64_t> portions(strategy.weights.begin(),
                                strategy.weights.end());
  if (portions.empty())
    portions.assign(strategy.replicas, 1);
  for (int64_t portion : portions)
    train.weights.push_back(portion);
  train.syncBatchNorm = options.syncBatchNorm;
  train.seed = options.seed;
  train.precision = options.precision;
  train.workers = averaged;
  train.markCotangents = !options.recompute.empty();
}

void Compilation::fillPartitionOptions(PartitionPipelineOptions &partition) {
  partition.recompute = options.recompute;
  partition.workers = averaged;
  partition.syncEvery = options.syncEvery;
  MachineModel machine = getMachine();
  partition.workerLinkCost =
      machine.link.bytesPerSecond / machine.processLink.bytesPerSecond;
  partition.memoryLimit = int64_t(options.memoryLimitGiB * (1 << 30));
  partition.bytesPerPack = options.bytesPerPack;
  partition.overlap = options.overlap;
  partition.freeGradients = freesGradients();
  partition.allReduce = options.allReduce;
  partition.collectivesTable = options.collectivesTable;
  partition.linkTable = options.linkTable;
  partition.hosts = std::max(1, options.hosts);
  partition.compress = options.compress;
  partition.stages = strategy.stages;
  for (const auto &[axis, count] : strategy.processes)
    if (axis == strategy.stageAxis)
      partition.stageProcesses = count;
  partition.sources = explains();
  if (!strategy.weights.empty())
    partition.portionAxis = strategy.dataAxes.front();
  for (int64_t weight : strategy.weights)
    partition.weights.push_back(weight);
  if (!strategy.modelAxis.empty() && !options.wholeAxes)
    partition.cutAxes.push_back(strategy.modelAxis);
  for (const std::string &axis : strategy.ruleAxes)
    if (axis != strategy.modelAxis && !options.wholeAxes)
      partition.cutAxes.push_back(axis);
  // Rules are the user's layout, of which nothing is gathered unnoticed; what a
  // strategy splits by itself it gathers by intent.
  partition.allowReplicate = options.allowReplicate || options.split.empty();
  partition.errorOnImplicitReshard = options.errorOnImplicitReshard;
  partition.strictDivisibility = options.strictDivisibility;
  if (!strategy.schedule.empty())
    partition.schedule = strategy.schedule;
}
