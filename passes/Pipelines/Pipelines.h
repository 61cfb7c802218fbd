//===- Pipelines.h - The order of the passes -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PIPELINES_PIPELINES_H
#define PASSES_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::dist {

/// The mesh axis of a pipeline's microbatches; the partitioner unrolls it.
inline constexpr const char *kMicrobatchAxis = "microbatch";

/// Of `dist-train-pipeline`. Names and defaults are those of the passes.
struct TrainPipelineOptions : PassPipelineOptions<TrainPipelineOptions> {
  ListOption<std::string> losses{*this, "loss", llvm::cl::desc("Losses")};
  ListOption<std::string> lossWeights{*this, "loss-weights",
                                      llvm::cl::desc("OUTPUT=NUMBER")};
  ListOption<std::string> classWeights{*this, "class-weights",
                                       llvm::cl::desc("CLASS=WEIGHT")};
  Option<std::string> sampleWeights{*this, "sample-weights",
                                    llvm::cl::desc("Examples' factors")};
  Option<std::string> lossOutput{*this, "loss-output",
                                 llvm::cl::desc("Output the loss reads")};
  Option<std::string> fromLogits{*this, "from-logits",
                                 llvm::cl::desc("auto, true or false"),
                                 llvm::cl::init("auto")};
  ListOption<std::string> metrics{*this, "metrics", llvm::cl::desc("Metrics")};
  Option<std::string> optimizer{*this, "optimizer", llvm::cl::desc("Optimizer"),
                                llvm::cl::init("sgd")};
  Option<std::string> lrSchedule{*this, "lr-schedule",
                                 llvm::cl::desc("Learning-rate schedule"),
                                 llvm::cl::init("constant")};
  Option<bool> settableLr{*this, "settable-lr",
                          llvm::cl::desc("The optimizer's lr is a variable"),
                          llvm::cl::init(false)};
  Option<std::string> onNonfinite{*this, "on-nonfinite",
                                  llvm::cl::desc("continue, skip or stop"),
                                  llvm::cl::init("stop")};
  Option<double> clipNorm{*this, "clip-norm", llvm::cl::desc("Global norm"),
                          llvm::cl::init(0)};
  Option<double> clipValue{*this, "clip-value", llvm::cl::desc("Magnitude"),
                           llvm::cl::init(0)};
  Option<double> weightDecay{*this, "weight-decay",
                             llvm::cl::desc("Decoupled decay; < 0: default"),
                             llvm::cl::init(-1)};
  Option<int64_t> accumulate{*this, "accumulate",
                             llvm::cl::desc("Batches an update"),
                             llvm::cl::init(1)};
  ListOption<std::string> entries{
      *this, "entries",
      llvm::cl::desc("train, evaluate, predict, gradients, apply; none: train, "
                     "evaluate, predict")};
  Option<bool> independentUpdates{
      *this, "independent-updates",
      llvm::cl::desc("'apply' takes each variable by itself"),
      llvm::cl::init(false)};
  ListOption<std::string> inputGradients{
      *this, "input-gradients",
      llvm::cl::desc("Inputs by which 'gradients' differentiates, too")};
  Option<int64_t> replicas{*this, "replicas",
                           llvm::cl::desc("Replicas with their own batch "
                                          "statistics"),
                           llvm::cl::init(1)};
  ListOption<int64_t> weights{
      *this, "weights",
      llvm::cl::desc("Portions of a batch that the data replicas get")};
  Option<bool> syncBatchNorm{*this, "sync-batch-norm",
                             llvm::cl::desc("One group over all replicas"),
                             llvm::cl::init(false)};
  Option<std::string> precision{*this, "precision",
                                llvm::cl::desc("f32, bf16 or f16"),
                                llvm::cl::init("f32")};
  Option<int64_t> seed{*this, "seed", llvm::cl::desc("Seed of dropout"),
                       llvm::cl::init(0)};
  Option<int64_t> workers{
      *this, "workers",
      llvm::cl::desc("Who run the entries by themselves, each on its part of "
                     "the batch; 1: nobody does"),
      llvm::cl::init(1)};
  Option<bool> markCotangents{*this, "mark-cotangents",
                              llvm::cl::desc("For graph-recompute"),
                              llvm::cl::init(false)};
};

/// Of `dist-partition-pipeline`.
struct PartitionPipelineOptions
    : PassPipelineOptions<PartitionPipelineOptions> {
  Option<int64_t> bytesPerPack{*this, "bytes-per-pack",
                               llvm::cl::desc("Largest bucket; 0: one bucket"),
                               llvm::cl::init(0)};
  Option<std::string> allReduce{
      *this, "all-reduce",
      llvm::cl::desc(
          "auto, ring, halving-doubling, hierarchical or reduce-to-one"),
      llvm::cl::init("auto")};
  Option<std::string> collectivesTable{
      *this, "collectives-table",
      llvm::cl::desc("Of dist-choose-algorithm: measured times")};
  Option<std::string> linkTable{
      *this, "link-table",
      llvm::cl::desc("Of dist-choose-algorithm: links by level")};
  Option<int64_t> hosts{*this, "hosts",
                        llvm::cl::desc("Machines that ranks are spread over"),
                        llvm::cl::init(1)};
  Option<std::string> compress{
      *this, "compress",
      llvm::cl::desc("Of dist-compress-collectives; or none"),
      llvm::cl::init("")};
  Option<bool> overlap{*this, "overlap",
                       llvm::cl::desc("Collectives run beside computation"),
                       llvm::cl::init(false)};
  Option<bool> freeGradients{
      *this, "free-gradients",
      llvm::cl::desc("Gradients are reduced in parts, as they are made"),
      llvm::cl::init(false)};
  Option<std::string> recompute{
      *this, "recompute",
      llvm::cl::desc("auto or REGEX: activations computed again")};
  Option<int64_t> memoryLimit{*this, "memory-limit",
                              llvm::cl::desc("Of recompute: bytes; 0: any"),
                              llvm::cl::init(0)};
  Option<std::string> schedule{
      *this, "schedule",
      llvm::cl::desc("Of a pipeline: gpipe, 1f1b, interleaved"),
      llvm::cl::init("1f1b")};
  Option<int64_t> stages{*this, "stages",
                         llvm::cl::desc("Stages of a pipeline; 0: none"),
                         llvm::cl::init(0)};
  Option<int64_t> stageProcesses{
      *this, "stage-processes",
      llvm::cl::desc("Into how many processes the stages are cut"),
      llvm::cl::init(1)};
  Option<int64_t> workers{
      *this, "workers",
      llvm::cl::desc("Of dist-average-workers; 1: their program is one"),
      llvm::cl::init(1)};
  Option<int64_t> syncEvery{*this, "sync-every",
                            llvm::cl::desc("Steps between averages"),
                            llvm::cl::init(1)};
  Option<double> workerLinkCost{
      *this, "worker-link-cost",
      llvm::cl::desc("Of a byte between workers, against one within"),
      llvm::cl::init(1)};
  Option<std::string> portionAxis{*this, "portion-axis",
                                  llvm::cl::desc("Of weights: their mesh axis"),
                                  llvm::cl::init("data")};
  ListOption<int64_t> weights{
      *this, "weights",
      llvm::cl::desc("Of unequal devices: parts of the batch, one a position")};
  ListOption<std::string> cutAxes{
      *this, "cut-axes",
      llvm::cl::desc("Axes cut where a reshape can use but a part")};
  Option<bool> unroll{
      *this, "unroll",
      llvm::cl::desc("Copies of ops, one for each microbatch; without, one op "
                     "stands for them"),
      llvm::cl::init(true)};
  Option<int64_t> shownMicrobatches{
      *this, "shown-microbatches",
      llvm::cl::desc("Of how many microbatches copies are made, where they "
                     "show the others; 0: of all"),
      llvm::cl::init(0)};
  Option<bool> sources{*this, "sources",
                       llvm::cl::desc("Keeps where shardings came from"),
                       llvm::cl::init(false)};
  Option<bool> allowReplicate{
      *this, "allow-replicate",
      llvm::cl::desc("A value that is split may be gathered on every rank"),
      llvm::cl::init(true)};
  Option<bool> errorOnImplicitReshard{
      *this, "error-on-implicit-reshard",
      llvm::cl::desc("A value changes its layout only where the program says "
                     "so"),
      llvm::cl::init(false)};
  Option<bool> strictDivisibility{
      *this, "strict-divisibility",
      llvm::cl::desc("Dims that do not divide are errors, not padded"),
      llvm::cl::init(false)};
};

/// Of `dist-annotate-pipeline`.
struct AnnotatePipelineOptions : PassPipelineOptions<AnnotatePipelineOptions> {
  ListOption<std::string> axes{*this, "axes",
                               llvm::cl::desc("Mesh axes, NAME:SIZE")};
  ListOption<std::string> processes{
      *this, "processes",
      llvm::cl::desc("Into how many processes axes are cut, NAME:NUMBER")};
  Option<double> processLinkCost{
      *this, "process-link-cost",
      llvm::cl::desc("Of a byte between processes, against one within"),
      llvm::cl::init(1)};
  ListOption<std::string> strategies{
      *this, "strategies",
      llvm::cl::desc("In their order, each with its keys: mirrored, "
                     "central-storage, tensor-split:sequence-parallel=true, "
                     "zero:stage=2")};
  ListOption<std::string> dataAxes{
      *this, "data-axes", llvm::cl::desc("Axes that the batch is split over")};
  Option<int64_t> batchParts{
      *this, "batch-parts",
      llvm::cl::desc("Of unequal devices: the sum of their weights; 0: equal"),
      llvm::cl::init(0)};
  Option<std::string> modelAxis{*this, "model-axis",
                                llvm::cl::desc("Axis of tensor-split presets"),
                                llvm::cl::init("model")};
  ListOption<std::string> split{*this, "split",
                                llvm::cl::desc("REGEX=DIM:AXIS rules")};
  Option<std::string> splitPreset{*this, "split-preset",
                                  llvm::cl::desc("Preset without rules"),
                                  llvm::cl::init("auto")};
  Option<int64_t> stages{*this, "stages",
                         llvm::cl::desc("Stages of a pipeline; 0: none"),
                         llvm::cl::init(0)};
  Option<int64_t> chunks{*this, "chunks",
                         llvm::cl::desc("Chunks of the model a stage has"),
                         llvm::cl::init(1)};
  Option<bool> sources{*this, "sources",
                       llvm::cl::desc("Keeps where shardings came from"),
                       llvm::cl::init(false)};
  Option<bool> strictDivisibility{
      *this, "strict-divisibility",
      llvm::cl::desc("Dims that do not divide are errors, not padded"),
      llvm::cl::init(false)};
  Option<bool> wholeAxes{
      *this, "whole-axes",
      llvm::cl::desc("No preset splits over a part of an axis"),
      llvm::cl::init(false)};
};

/// Of an imported module: folds shape arithmetic, makes activations
/// channels-last.
void buildImportPipeline(OpPassManager &pm);

/// From @predict to training and evaluation entries (all pure functions).
/// Without a loss only @predict is made pure.
void buildTrainPipeline(OpPassManager &pm, const TrainPipelineOptions &options);

/// The strategies' annotations, each propagated before the next adds its own.
void buildAnnotatePipeline(OpPassManager &pm,
                           const AnnotatePipelineOptions &options);

/// Of training entries made with independent updates: which of so many
/// parameter servers has which variable.
void buildPlaceServersPipeline(OpPassManager &pm, int64_t servers,
                               StringRef partitioner);

/// Workers of these have the rows of tables that their steps look up.
void buildPullRowsPipeline(OpPassManager &pm);

/// From there to one server's program, or the workers' (negative).
void buildSplitServersPipeline(OpPassManager &pm, int64_t server);

/// Gives ops the numbers by which --check finds them again.
void buildNumberPipeline(OpPassManager &pm);

/// From annotations to the program of one rank.
void buildPartitionPipeline(OpPassManager &pm,
                            const PartitionPipelineOptions &options);

/// From one worker's program to that of several, which train by themselves and
/// average their variables now and then.
void buildAveragePipeline(OpPassManager &pm,
                          const PartitionPipelineOptions &options);

/// Of a program of stages that is not unrolled: a copy of each op for each
/// microbatch, and what is chosen among copies. It is what runs.
void buildUnrollPipeline(OpPassManager &pm,
                         const PartitionPipelineOptions &options);

/// Of the program of one rank: activations that are computed again.
void buildRecomputePipeline(OpPassManager &pm,
                            const PartitionPipelineOptions &options);

/// Registers dist-{import,train,annotate,partition}-pipeline.
void registerPipelines();

} // namespace mlir::dist

#endif // PASSES_PIPELINES_PIPELINES_H
