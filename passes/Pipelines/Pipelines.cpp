//===- Pipelines.cpp - The order of the passes -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Pipelines/Pipelines.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Graph/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Pipelines/Tactics.h"
#include "passes/Strategy/Passes.h"
#include "passes/Workers/Passes.h"

using namespace mlir;
using namespace mlir::dist;

void mlir::dist::buildImportPipeline(OpPassManager &pm) {
  // First: what follows makes equal ops one.
  pm.addPass(createNumberDropoutsPass());
  // What importers spell out as constants and shape arithmetic goes first, so
  // that the layout pass sees only ops that stay.
  pm.addPass(createFoldPass());
  // Reshapes are one behind the other no more.
  pm.addPass(createKeepDimsPass());
  // Before differentiation: the backward pass inherits the layout.
  pm.addPass(createChannelsLastPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createIndexInputsPass());
}

void mlir::dist::buildTrainPipeline(OpPassManager &pm,
                                    const TrainPipelineOptions &options) {
  if (!options.losses.empty()) {
    TrainingModePassOptions mode;
    mode.groups = options.replicas;
    mode.weights.assign(options.weights.begin(), options.weights.end());
    mode.syncBatchNorm = options.syncBatchNorm;
    mode.partial = true;
    mode.seed = options.seed;
    pm.addPass(createTrainingModePass(mode));
    AddLossPassOptions loss;
    loss.losses.assign(options.losses.begin(), options.losses.end());
    loss.lossWeights.assign(options.lossWeights.begin(),
                            options.lossWeights.end());
    loss.classWeights.assign(options.classWeights.begin(),
                             options.classWeights.end());
    loss.sampleWeights = options.sampleWeights;
    loss.lossOutput = options.lossOutput;
    loss.fromLogits = options.fromLogits;
    loss.metrics.assign(options.metrics.begin(), options.metrics.end());
    loss.partial = true;
    loss.weights.assign(options.weights.begin(), options.weights.end());
    pm.addPass(createAddLossPass(loss));
  }
  // Differentiation wants pure functions.
  pm.addPass(createFunctionalizeStatePass());
  // Also before: derivatives are then in the precision of what they derive.
  if (options.precision != "f32") {
    MixedPrecisionPassOptions mixed;
    mixed.precision = options.precision;
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createMixedPrecisionPass(mixed));
  }
  if (!options.losses.empty()) {
    // The loss has made part of the forward pass dead (the softmax); its
    // derivative should not be built.
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createCSEPass());
    DifferentiatePassOptions differentiate;
    differentiate.lossScale = options.precision == "f16";
    differentiate.markCotangents = options.markCotangents;
    differentiate.inputs.assign(options.inputGradients.begin(),
                                options.inputGradients.end());
    pm.addPass(createDifferentiatePass(differentiate));
    // Before anything looks at each op: a sum of N pieces is N of its size.
    pm.addPass(createJoinPiecesPass());
    ApplyOptimizerPassOptions apply;
    apply.optimizer = options.optimizer;
    apply.lrSchedule = options.lrSchedule;
    apply.settableLr = options.settableLr;
    apply.clipNorm = options.clipNorm;
    apply.clipValue = options.clipValue;
    apply.weightDecay = options.weightDecay;
    apply.accumulate = options.accumulate;
    apply.separate = llvm::is_contained(options.entries, "gradients") ||
                     llvm::is_contained(options.entries, "apply");
    apply.independentUpdates = options.independentUpdates;
    apply.onNonfinite = options.onNonfinite;
    apply.lossScale = options.precision == "f16";
    pm.addPass(createApplyOptimizerPass(apply));
    pm.addPass(createFoldPass());
  }
  // Behind whatever reads the count.
  if (options.workers > 1) {
    CountOwnExamplesPassOptions count;
    count.workers = options.workers;
    pm.nest<func::FuncOp>().addPass(createCountOwnExamplesPass(count));
  }
  // Strategies decide by what will run.
  SelectEntriesPassOptions select;
  select.entries.assign(options.entries.begin(), options.entries.end());
  pm.addPass(createSelectEntriesPass(select));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void mlir::dist::buildAnnotatePipeline(OpPassManager &pm,
                                       const AnnotatePipelineOptions &options) {
  // Ops keep the numbers of the program that --check compares with.
  buildNumberPipeline(pm);
  if (options.stages > 0) {
    PipelineStagesPassOptions stages;
    stages.stages = options.stages;
    stages.chunks = options.chunks;
    pm.addPass(createPipelineStagesPass(stages));
  }
  CreateMeshPassOptions mesh;
  mesh.axes.assign(options.axes.begin(), options.axes.end());
  mesh.processes.assign(options.processes.begin(), options.processes.end());
  mesh.processLinkCost = options.processLinkCost;
  pm.addPass(createCreateMeshPass(mesh));
  // The batch first, whatever order is given: it is what inputs and outputs are
  // split by, and no strategy decides otherwise.
  ReplicatePassOptions replicate;
  replicate.axes.assign(options.dataAxes.begin(), options.dataAxes.end());
  replicate.parts = options.batchParts;
  replicate.strategy.clear();
  for (const std::string &text : options.strategies)
    if (const Tactic *tactic = findTactic(StrategyText(text).name);
        tactic && tactic->splitsBatch && replicate.strategy.empty())
      replicate.strategy = text;
  if (replicate.strategy.empty())
    replicate.strategy = "mirrored";
  bool annotated = !options.dataAxes.empty();
  if (annotated)
    pm.addPass(createReplicatePass(replicate));
  for (const std::string &text : options.strategies) {
    StrategyText strategy(text);
    const Tactic *tactic = findTactic(strategy.name);
    if (!tactic)
      addUnknownStrategy(pm, text);
    if (!tactic || !tactic->add)
      continue;
    if (tactic->findsOthers && annotated)
      addOpenPropagation(pm, options);
    annotated |= tactic->findsOthers;
    tactic->add(pm, options, strategy);
  }
}

void mlir::dist::buildPlaceServersPipeline(OpPassManager &pm, int64_t servers,
                                           StringRef partitioner) {
  PlaceServerVariablesPassOptions place;
  place.servers = servers;
  place.partitioner = partitioner.str();
  pm.addPass(createPlaceServerVariablesPass(place));
}

void mlir::dist::buildPullRowsPipeline(OpPassManager &pm) {
  pm.addPass(createPullRowsPass());
  // Constants of a table's size, and what several gradients have alike.
  pm.addPass(createCSEPass());
}

void mlir::dist::buildSplitServersPipeline(OpPassManager &pm, int64_t server) {
  SplitServersPassOptions split;
  split.server = server;
  pm.addPass(createSplitServersPass(split));
  // Parts of one variable are updated by equal ops.
  pm.addPass(createCSEPass());
}

void mlir::dist::buildNumberPipeline(OpPassManager &pm) {
  // Composites whose statistics span ranks (synchronized batch norm) split as
  // their parts do.
  DecomposeCompositesPassOptions decompose;
  decompose.only = {"batch_norm"};
  pm.addPass(createDecomposeCompositesPass(decompose));
  // --check finds ops of the global program by these numbers.
  pm.nest<func::FuncOp>().addPass(createNumberOpsPass());
}

void mlir::dist::buildRecomputePipeline(
    OpPassManager &pm, const PartitionPipelineOptions &options) {
  if (options.recompute.empty())
    return;
  RecomputePassOptions recompute;
  recompute.ops = options.recompute;
  recompute.memoryLimit = options.memoryLimit;
  pm.addPass(createRecomputePass(recompute));
}

/// How all-reduces go. `isOfAll`: the program is that of all processes.
static void addAlgorithms(OpPassManager &pm,
                          const PartitionPipelineOptions &options,
                          bool isOfAll) {
  // Behind the buckets, each of which becomes one transfer a level; and before
  // algorithms are chosen for the all-reduces that this leaves.
  HierarchicalCollectivesPassOptions levels;
  levels.always = options.allReduce == "hierarchical";
  if (levels.always || options.allReduce == "auto")
    pm.nest<func::FuncOp>().addPass(createHierarchicalCollectivesPass(levels));
  ChooseAlgorithmPassOptions choose;
  if (!levels.always) {
    // The attribute's name of what an option calls reduce-to-one.
    choose.algorithm = options.allReduce;
    llvm::replace(choose.algorithm, '-', '_');
  }
  if (isOfAll) {
    choose.collectivesTable = options.collectivesTable;
    choose.linkTable = options.linkTable;
    choose.hosts = options.hosts;
  }
  if (choose.algorithm != "auto" || !choose.collectivesTable.empty() ||
      !choose.linkTable.empty())
    pm.nest<func::FuncOp>().addPass(createChooseAlgorithmPass(choose));
}

void mlir::dist::buildPartitionPipeline(
    OpPassManager &pm, const PartitionPipelineOptions &options) {
  buildNumberPipeline(pm);
  PropagateShardingPassOptions propagate;
  propagate.sources = options.sources;
  propagate.strictDivisibility = options.strictDivisibility;
  // Only now: the strategies' passes ask for axes as a whole.
  propagate.cutAxes.assign(options.cutAxes.begin(), options.cutAxes.end());
  pm.addPass(createPropagateShardingPass(propagate));
  OpPassManager &functions = pm.nest<func::FuncOp>();
  InsertReshardsPassOptions reshards;
  reshards.allowReplicate = options.allowReplicate;
  reshards.errorOnImplicitReshard = options.errorOnImplicitReshard;
  functions.addPass(createInsertReshardsPass(reshards));
  // Partial sums become whole before their first use that is not linear, at the
  // place with the fewest bytes.
  functions.addPass(createInsertAllReducePass());
  functions.addPass(createVerifyUnreducedPass());
  // The last pass that sees one global program: what follows makes parts, and
  // those of unequal devices have shapes of their own.
  SplitPortionsPassOptions portions;
  portions.axis = options.portionAxis;
  portions.weights.assign(options.weights.begin(), options.weights.end());
  pm.addPass(createSplitPortionsPass(portions));
  OpPassManager &parts = pm.nest<func::FuncOp>();
  // Behind everything that reasons about sums: masks are no linear ops. From
  // here on all shards are equal, but for those of examples that have weights.
  parts.addPass(createPadIndivisiblePass());
  pm.addPass(createPartitionPass());
  // What only stands side by side once reshards are collectives. Before copies
  // are made and buckets: it is one collective that is a cut, or read twice.
  SimplifyCollectivesPassOptions simplify;
  // Microbatches of which whole gradients may stay are scattered together.
  if (options.stages > 0 && !options.freeGradients)
    simplify.sumFirst = kMicrobatchAxis;
  pm.nest<func::FuncOp>().addPass(createSimplifyCollectivesPass(simplify));
  if (options.stages > 0) {
    // Microbatches are ranks of an axis until here; now they are one rank's,
    // of which the program still has one op for all.
    pm.addPass(createSeparateMicrobatchesPass());
    SplitStagesPassOptions split;
    split.schedule = options.schedule;
    split.stages = options.stages;
    split.processes = options.stageProcesses;
    pm.addPass(createSplitStagesPass(split));
  } else {
    // Behind the partitioner, which would give copies transfers of their own.
    buildRecomputePipeline(pm, options);
  }
  // Before buckets: those are of what is sent.
  if (!options.compress.empty()) {
    HierarchicalCollectivesPassOptions levels;
    levels.betweenProcesses = true;
    pm.nest<func::FuncOp>().addPass(createHierarchicalCollectivesPass(levels));
    CompressCollectivesPassOptions compress;
    compress.method = options.compress;
    pm.addPass(createCompressCollectivesPass(compress));
  }
  CombineCollectivesPassOptions combine;
  combine.bytesPerPack = options.bytesPerPack;
  // One bucket is complete when the backward pass is over: nothing is left to
  // run beside it, and all gradients are there.
  if (options.overlap || options.freeGradients)
    combine.parts = 8;
  pm.nest<func::FuncOp>().addPass(createCombineCollectivesPass(combine));
  // Behind the buckets, of which both ends must have the same.
  SplitHostPassOptions host;
  host.bytesPerPack = options.bytesPerPack;
  pm.addPass(createSplitHostPass(host));
  addAlgorithms(pm, options, /*isOfAll=*/options.workers == 1);
  // Behind all that takes the program apart, which works on one op for all
  // microbatches.
  if (options.stages > 0) {
    if (options.unroll)
      buildUnrollPipeline(pm, options);
    return;
  }
  // Behind the buckets: they are what is worth starting.
  if (options.overlap)
    pm.nest<func::FuncOp>().addPass(createOverlapCollectivesPass());
}

void mlir::dist::buildAveragePipeline(OpPassManager &pm,
                                      const PartitionPipelineOptions &options) {
  AverageWorkersPassOptions average;
  average.workers = options.workers;
  average.every = options.syncEvery;
  average.linkCost = options.workerLinkCost;
  average.bytesPerPack = options.bytesPerPack;
  pm.addPass(createAverageWorkersPass(average));
  addAlgorithms(pm, options, /*isOfAll=*/true);
}

void mlir::dist::buildUnrollPipeline(OpPassManager &pm,
                                     const PartitionPipelineOptions &options) {
  UnrollMicrobatchesPassOptions unroll;
  unroll.microbatches = options.shownMicrobatches;
  pm.addPass(createUnrollMicrobatchesPass(unroll));
  // What is kept depends on how many microbatches are in flight.
  buildRecomputePipeline(pm, options);
  // Last, as without stages: among copies.
  if (options.overlap)
    pm.nest<func::FuncOp>().addPass(createOverlapCollectivesPass());
}

void mlir::dist::registerPipelines() {
  PassPipelineRegistration<> import(
      "dist-import-pipeline", "Folds and lays out an imported module",
      [](OpPassManager &pm) { buildImportPipeline(pm); });
  PassPipelineRegistration<TrainPipelineOptions> train(
      "dist-train-pipeline", "From @predict to training entries",
      buildTrainPipeline);
  PassPipelineRegistration<AnnotatePipelineOptions> annotate(
      "dist-annotate-pipeline", "The strategy's annotations",
      buildAnnotatePipeline);
  PassPipelineRegistration<PartitionPipelineOptions> partition(
      "dist-partition-pipeline", "From annotations to the program of one rank",
      buildPartitionPipeline);
}
