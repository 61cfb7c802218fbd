//===- Compilation.h - One run of the compiler on one model file ----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_OPT_COMPILATION_H
#define TOOLS_DIST_OPT_COMPILATION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Analysis/Explain.h"
#include "passes/Lowering/Lowering.h"
#include "passes/Pipelines/Pipelines.h"
#include "runtime/export/onnx_export.h"
#include "runtime/formats/dependencies.h"
#include "tools/dist-opt/Diagnostics.h"
#include "tools/dist-opt/Machine.h"
#include "tools/dist-opt/PlanCandidates.h"
#include "tools/options/strategies.h"
#include <map>
#include <memory>
#include <tuple>

namespace mlir::dist {

/// What compilations of one model for several strategies have in common: the
/// machine, and the module after the training passes, by the global batch asked
/// for, the one compiled, and the replicas, with their microbatches and
/// without.
struct TrainedModels {
  TrainedModels(const DialectRegistry &registry, const Machine &machine)
      : machine(machine), context(registry) {}

  const Machine &machine;
  MLIRContext context;
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>,
           OwningOpRef<ModuleOp>>
      modules;
  /// How many examples the batch of a model that is MLIR has; 0: it is none, or
  /// does not say.
  int64_t moduleRows = 0;
};

/// One run of the compiler on one model file.
class Compilation {
public:
  Compilation(const ::dist::tools::Options &options,
              const DialectRegistry &registry, const Machine &machine);
  /// To predict, one of several, which differ in strategy and devices alone.
  /// The first error goes to `error`.
  Compilation(const ::dist::tools::Options &options, TrainedModels &trained,
              std::string *error);

  /// Everything the command line asks for; the exit code.
  int run();

  /// The program of one rank as `--explain` tells of it, of all entries or of
  /// those that a step of the training runs; nothing after an error.
  enum class Entries { All, OfAStep };
  std::optional<ExplainReport> predict(Entries entries = Entries::All);

  /// How often a step runs the entry: one batch, with accumulation every so
  /// many with an update; without a loss a prediction.
  double getShareOfStep(StringRef entry) const;

  /// The parameters, and which dim the model's axis splits.
  std::vector<SplitVariable> getSplits();

  /// Whether shardings have to be traced back to who decided them.
  bool explains() const {
    return !options.explain.empty() || options.emit == "explain" ||
           options.errorOnImplicitReshard ||
           // An error then names the rules that met.
           (!options.split.empty() && !options.allowReplicate);
  }

private:
  ::dist::Status plan();
  ::dist::Status checkEntries() const;
  LogicalResult load();
  /// ModuleFile.cpp: a module's batch is as it is; that of the options fits it,
  /// or is an error.
  LogicalResult takeModuleBatch();
  LogicalResult loadTrained();
  LogicalResult train();
  LogicalResult annotate();
  /// Of a pipeline, one op stands for all microbatches until `unroll`: what is
  /// written is as long as the model.
  LogicalResult partition();
  /// With --sync-every, from one worker's program to all workers'; behind
  /// --check, which knows no values that differ between ranks.
  LogicalResult averageWorkers();
  LogicalResult unroll();
  /// A copy of it with copies of few microbatches, which the kernels of the
  /// others are made of; null where copies of all have to be there from the
  /// start. Lowering takes as long for many microbatches as for few.
  OwningOpRef<ModuleOp> showFew();
  /// What the partitioned module moves, holds and takes, as a copy of it is
  /// lowered; for a page with details. `few`: what showFew gave.
  std::optional<ExplainReport> makeReport(ModuleOp few, bool details = false);
  /// `--memory-limit`: refused before anything runs, with the parts.
  LogicalResult checkMemory(const ExplainReport &report);
  /// Passes from the partitioner on see what is as long as the model times its
  /// microbatches: to verify it after each one took a third of the time.
  enum class Verified { AfterEachPass, AtTheEnd };
  LogicalResult runPipeline(llvm::function_ref<void(OpPassManager &)> build,
                            Verified when = Verified::AfterEachPass) {
    return runPipeline(*module, build, when);
  }
  LogicalResult runPipeline(ModuleOp of,
                            llvm::function_ref<void(OpPassManager &)> build,
                            Verified when);
  LogicalResult dropFullEntries();
  /// BatchEntries.cpp: `--batch-sizes`, a copy of the prediction for each
  /// further one, over the same variables.
  LogicalResult addBatchEntries();
  OwningOpRef<ModuleOp> loadPrediction(int64_t size);
  /// ServerPrograms.cpp: of --strategy parameter-server, which server has which
  /// variable, and the servers' programs, as copies of the module become them.
  LogicalResult placeServers();
  /// What the workers run of the module.
  LogicalResult leaveWorkers();
  /// Puts the servers' programs into the module, which is only to be printed.
  void attachServers();
  std::vector<ModuleOp> getServers();
  /// Adds them to what is lowered; `reports` must outlive that.
  void addServers(LoweringOptions &lowering,
                  std::vector<ExplainReport> &reports);
  LogicalResult explainServers(ExplainReport &report, bool details);
  /// Leaves the entries that a step runs.
  void keepStepEntries();
  void fillAnnotateOptions(AnnotatePipelineOptions &annotate);
  void fillTrainOptions(TrainPipelineOptions &train);
  void fillPartitionOptions(PartitionPipelineOptions &partition);
  MachineModel getMachine() const {
    return trained.machine.getModel(threads, int64_t(options.devices.size()),
                                    strategy.workers,
                                    std::max(1, options.hosts));
  }
  bool freesGradients() const;
  /// Of --sync-every: `strategy` and the batch become one worker's.
  void leaveToWorkers();
  /// Whether the program is one of a mesh.
  bool isSplit() const { return strategy.ranks > 1 || averaged > 1; }
  LoweringOptions loweringOptions();
  /// The report gets the times of kernels while the module is lowered.
  void describeCosts(LoweringOptions &lowering, ExplainReport &report);
  int print(bool bytecode);
  /// `few`: what showFew gave.
  int emitPackage(OwningOpRef<ModuleOp> few);
  LogicalResult lower(OwningOpRef<ModuleOp> few, bool toLLVM);
  /// `--check=kernels` of the partitioned module; `global` as it was before.
  int checkKernels(ModuleOp global, ModuleOp few);
  /// EmitOnnx.cpp: the model file, with how the strategy splits its
  /// initializers as its device configuration.
  int emitOnnx();
  std::map<std::string, ::dist::OnnxShards> findShards();
  std::vector<::dist::OnnxCopy> findOnnxCopies();
  /// Adds to what a user should know of the model: batch norm per replica.
  void noteBatchNorms();
  /// All of it, a line each.
  std::string joinNotes();

  const ::dist::tools::Options &options;
  /// Null: they are another's.
  std::unique_ptr<TrainedModels> owned;
  TrainedModels &trained;
  MLIRContext &context;
  ErrorPrinter printer;
  /// The files that the module is from.
  ::dist::Dependencies dependencies;
  OwningOpRef<ModuleOp> module;
  std::vector<OwningOpRef<ModuleOp>> servers;
  /// With --check, what the workers' devices then run parts of.
  OwningOpRef<ModuleOp> unsplit;
  /// Whether the model file itself is ONNX; MLIR may come from one, too.
  bool isOnnx = false;
  ::dist::tools::StrategyPlan strategy;
  int64_t replicas = 1;
  /// The global batch asked for (0: the model's own), and the one compiled: a
  /// multiple of the replicas.
  int64_t batch = 0, paddedBatch = 0;
  /// The same of all workers together.
  int64_t globalBatch = 0;
  /// Workers that train by themselves and average; 1: none do.
  int64_t averaged = 1;
  int64_t threads = 1;
  bool verifies = true;
};

} // namespace mlir::dist

#endif // TOOLS_DIST_OPT_COMPILATION_H
