//===- Compilation.cpp - One run of the compiler on one model file --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/Compilation.h"
#include "passes/Analysis/BatchRows.h"
#include "dialects/Dist/IR/CopyPlace.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Microbatch.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/Import/Importer.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Lowering/Kernels/PredictKernels.h"
#include "passes/Lowering/Memory/PlannedMemory.h"
#include "runtime/export/onnx_export.h"
#include "runtime/formats/file.h"
#include "tools/dist-opt/DebugOptions.h"
#include "tools/dist-opt/KernelCheck.h"
#include "tools/dist-opt/ModelFile.h"
#include "tools/dist-opt/Reports.h"
#include "tools/options/values.h"
#include "tools/options/interrupt.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;
using ::dist::Status;
using ::dist::StatusCode;
using ::dist::tools::formatGiB;
using ::dist::tools::formatNeededGiB;
using ::dist::tools::Options;

Compilation::Compilation(const Options &options,
                         const DialectRegistry &registry,
                         const Machine &machine)
    : options(options),
      owned(std::make_unique<TrainedModels>(registry, machine)),
      trained(*owned), context(trained.context), printer(&context, nullptr) {
  // An error names the op and its place; the op's whole text would hide them.
  context.printOpOnDiagnostic(false);
}

Compilation::Compilation(const Options &options, TrainedModels &trained,
                         std::string *error)
    : options(options), trained(trained), context(trained.context),
      printer(&context, error),
      // Nothing runs of it; what is chosen is compiled once more.
      verifies(false) {
  context.printOpOnDiagnostic(false);
}

LogicalResult
Compilation::runPipeline(ModuleOp of,
                         llvm::function_ref<void(OpPassManager &)> build,
                         Verified when) {
  PassManager pm(&context, ModuleOp::getOperationName());
  pm.enableVerifier(verifies && when == Verified::AfterEachPass);
  applyDebugOptions(pm);
  build(pm);
  if (failed(pm.run(of)))
    return failure();
  return failure(verifies && when == Verified::AtTheEnd &&
                 failed(mlir::verify(of)));
}

int Compilation::print(bool bytecode) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (bytecode) {
    if (failed(writeBytecodeToFile(*module, os)))
      return 3;
  } else {
    OpPrintingFlags flags;
    flags.enableDebugInfo(false);
    module->print(os, flags);
    os << "\n";
  }
  if (options.outFile.empty() || options.outFile == "-") {
    llvm::outs() << text;
    llvm::outs().flush();
    std::error_code error = llvm::outs().error();
    if (!error)
      return 0;
    // Of a program no part is of use, whoever wants no more of it.
    llvm::outs().clear_error();
    return reportError(
        Status::error(StatusCode::Unavailable, "cannot write the output", "",
                      error.message(), "check where it is sent to"));
  }
  ::dist::tools::Shield shield("writing the output");
  Status status = ::dist::writeFile(options.outFile, text);
  return status.ok() ? 0 : reportError(status);
}

int Compilation::emitPackage(OwningOpRef<ModuleOp> few) {
  if (options.outFile.empty())
    return reportError(Status::error(StatusCode::InvalidArgument,
                                     "a package needs a place",
                                     "--emit=package", "", "give -o FOLDER"));
  LoweringOptions lowering = loweringOptions();
  lowering.furtherCpus.assign(options.targetCpus.begin() + 1,
                              options.targetCpus.end());
  std::vector<ExplainReport> serverReports;
  addServers(lowering, serverReports);
  ExplainReport report = explain(*module, getMachine());

  describeCosts(lowering, report);
  if (options.memoryLimitGiB > 0)
    lowering.checkPrograms = [&](ModuleOp programs) {
      return failure(failed(addPlannedMemory(programs, lowering, report)) ||
                     failed(checkMemory(report)));
    };
  // Names first: lowering replaces the module.
  std::vector<std::string> variables;
  for (auto variable : module->getOps<graph::VariableOp>())
    variables.push_back(variable.getSymName().str());
  std::vector<::dist::OnnxCopy> copies = findOnnxCopies();
  Status skeleton;
  if (isOnnx)
    lowering.addFiles = [&](const std::string &folder) {
      skeleton = ::dist::writeOnnxSkeleton(
          options.model, variables, folder + "/" + ::dist::kOnnxSkeletonName,
          copies, ::dist::FileAccess::Map);
      return success(skeleton.ok());
    };
  if (failed(lowerToPackage(*module, lowering, options.outFile, few.get())))
    return skeleton.ok() ? printer.exitCode() : reportError(skeleton);
  if (options.dependencies.empty())
    return 0;
  Status status = ::dist::writeFile(options.dependencies, dependencies.text());
  return status.ok() ? 0 : reportError(status);
}

LogicalResult Compilation::load() {
  bool isImported = false;
  module = loadModel(&context, options, paddedBatch, &isImported,
                     options.dependencies.empty() ? nullptr : &dependencies);
  if (!module)
    return failure();
  auto format = (*module)->getAttrOfType<StringAttr>("graph.model_format");
  isOnnx = isImported && format && format == "onnx";
  trained.moduleRows = isImported ? 0 : findModuleRows(*module);
  return takeModuleBatch();
}

/// A copy of the module after the training passes, which are run once.
LogicalResult Compilation::loadTrained() {
  OwningOpRef<ModuleOp> &shared =
      trained.modules[{batch, paddedBatch, replicas, strategy.replicas}];
  if (!shared) {
    if (failed(load()) || failed(train()))
      return failure();
    shared = std::move(module);
  }
  module = shared->clone();
  return takeModuleBatch();
}

/// Whether there is something to train. Why not the import has noted.
static LogicalResult checkTrainable(ModuleOp module, const Options &options) {
  auto variables = module.getOps<graph::VariableOp>();
  if (options.losses.empty() || !options.inputGradients.empty() ||
      llvm::any_of(variables, [](graph::VariableOp variable) {
        return variable.getTrainable();
      }))
    return success();
  std::string why = "none of its variables is trained";
  if (auto notes = module->getAttrOfType<ArrayAttr>(graph::kNotes))
    for (auto note : notes.getAsRange<StringAttr>())
      if (note.getValue().starts_with("not trained: "))
        why = note.str();
  return emitError(module.getLoc())
         << "cannot train the model (" << options.model << "): " << why
         << (StringRef(why).contains("--train")
                 ? ""
                 : "; see dist-run info, and --train REGEX");
}

LogicalResult Compilation::train() {
  if (failed(checkStage(*module, options)) ||
      failed(checkTrainable(*module, options)))
    return failure();
  TrainPipelineOptions train;
  fillTrainOptions(train);
  if (failed(runPipeline([&](OpPassManager &pm) {
        buildImportPipeline(pm);
        buildTrainPipeline(pm, train);
      })))
    return failure();
  noteBatchNorms();
  if (auto predict = module->lookupSymbol<func::FuncOp>("predict")) {
    // Predictions are cut into chunks, the last of which is filled up.
    std::string why = describeMixedRows(
        predict, llvm::to_vector(llvm::seq<unsigned>(predict.getNumResults())),
        CopyPlaces::AtTheEnd);
    if (why.empty())
      why = describeBatchNumber(*module);
    if (!why.empty())
      (*module)->setAttr(kPredictFullBatches, StringAttr::get(&context, why));
  }
  return failure(failed(dropFullEntries()) || failed(addBatchEntries()));
}

LogicalResult Compilation::annotate() {
  // Servers' programs are of one device: before anything is split.
  if (failed(placeServers()))
    return failure();
  if (!isSplit())
    return success();
  AnnotatePipelineOptions annotate;
  fillAnnotateOptions(annotate);
  return runPipeline(
      [&](OpPassManager &pm) { buildAnnotatePipeline(pm, annotate); });
}

LogicalResult Compilation::partition() {
  PartitionPipelineOptions partition;
  fillPartitionOptions(partition);
  partition.unroll = false;
  if (failed(leaveWorkers()))
    return failure();
  if (!isSplit())
    return runPipeline(
        [&](OpPassManager &pm) { buildRecomputePipeline(pm, partition); },
        Verified::AtTheEnd);
  return runPipeline(
      [&](OpPassManager &pm) { buildPartitionPipeline(pm, partition); },
      Verified::AtTheEnd);
}

LogicalResult Compilation::averageWorkers() {
  if (averaged == 1)
    return success();
  PartitionPipelineOptions partition;
  fillPartitionOptions(partition);
  return runPipeline(
      [&](OpPassManager &pm) { buildAveragePipeline(pm, partition); },
      Verified::AtTheEnd);
}

LogicalResult Compilation::unroll() {
  if (strategy.stages == 0)
    return success();
  PartitionPipelineOptions partition;
  fillPartitionOptions(partition);
  return runPipeline(
      [&](OpPassManager &pm) { buildUnrollPipeline(pm, partition); },
      Verified::AtTheEnd);
}

OwningOpRef<ModuleOp> Compilation::showFew() {
  // What is recomputed or started early is chosen among the copies.
  if (strategy.stages == 0 || !options.recompute.empty() || options.overlap)
    return {};
  PartitionPipelineOptions partition;
  fillPartitionOptions(partition);
  partition.shownMicrobatches = kLeastShownMicrobatches;
  OwningOpRef<ModuleOp> few = module->clone();
  if (failed(runPipeline(
          *few, [&](OpPassManager &pm) { buildUnrollPipeline(pm, partition); },
          Verified::AtTheEnd)))
    return {};
  return showsFew(*few) ? std::move(few) : OwningOpRef<ModuleOp>();
}

LogicalResult Compilation::lower(OwningOpRef<ModuleOp> few, bool toLLVM) {
  LoweringOptions lowering = loweringOptions();
  if (few &&
      failed(runPipeline(
          *few, [&](OpPassManager &pm) { buildKernelsPipeline(pm, lowering); },
          Verified::AtTheEnd)))
    return failure();
  bool isDone = few && !showsFew(*few);
  if (isDone)
    module = std::move(few);
  std::vector<ModuleOp> programs = getServers();
  programs.push_back(*module);
  for (ModuleOp program : programs)
    if (failed(runPipeline(
            program,
            [&](OpPassManager &pm) {
              if (!isDone || program != *module)
                buildKernelsPipeline(pm, lowering);
              buildProgramsPipeline(pm, lowering);
              if (toLLVM)
                buildRtToLLVMPipeline(pm, lowering);
            },
            Verified::AtTheEnd)))
      return failure();
  return success();
}

std::optional<ExplainReport> Compilation::makeReport(ModuleOp few,
                                                     bool details) {
  MachineModel machine = getMachine();
  ExplainReport report = explain(*module, machine, details);
  if (failed(predictByKernels(*module, few, loweringOptions(), machine, report,
                              details)) ||
      failed(explainServers(report, details)))
    return std::nullopt;
  for (EntryReport &entry : report.entries) {
    int64_t steps = entry.entry == "apply"  ? options.accumulate
                    : entry.entry == "sync" ? options.syncEvery
                                            : 1;
    if (steps > 1 || entry.entry == "sync")
      for (TransferRow &row : entry.transfers)
        row.often = steps > 1 ? "every " + std::to_string(steps) + " steps"
                              : "each step";
  }
  return report;
}

LogicalResult Compilation::checkMemory(const ExplainReport &report) {
  if (options.memoryLimitGiB <= 0)
    return success();
  const EntryReport *largest = nullptr;
  for (const EntryReport &entry : report.entries)
    if (!entry.onHost &&
        (!largest || entry.memory.getNeeded() > largest->memory.getNeeded()))
      largest = &entry;
  double limit = options.memoryLimitGiB * (1 << 30);
  if (!largest || largest->memory.getNeeded() <= limit)
    return success();
  const MemoryReport &memory = largest->memory;
  // Largest first: what to split.
  std::vector<std::pair<int64_t, StringRef>> parts = {
      {memory.parameters, "parameters"},
      {memory.slots, "optimizer slots"},
      {memory.otherState, "other state"},
      {memory.prepared, "weights as kernels read them"},
      {memory.library, "the library's kernels"},
      {memory.copies, "copies of what it sends"},
      {memory.messages, "messages to other processes and sums of theirs"},
      {memory.arena, "activations, gradients and buffers"}};
  llvm::sort(parts, std::greater<>());
  std::string list;
  for (auto [bytes, what] : parts)
    if (bytes > 0)
      list +=
          (list.empty() ? "" : ", ") + (what + " ").str() + formatGiB(bytes);
  // What only predicts or evaluates keeps nothing for a backward pass.
  StringRef name = largest->name;
  bool trains = name.starts_with("train_step") || name.starts_with("gradients");
  bool mayRecompute = trains && options.recompute.empty();
  return module->emitError()
         << "--memory-limit: '" << name << "' needs "
         << formatNeededGiB(memory.getNeeded())
         << (largest->server < 0 ? " of each device, not "
                                 : " of a server, not ")
         << formatGiB(limit) << ": " << list
         << (largest->server < 0
                 ? "; choose a strategy that splits the largest part"
                 : "; give more servers, or a --partitioner")
         << (mayRecompute ? ", or --recompute auto" : "");
}

std::vector<SplitVariable> Compilation::getSplits() {
  std::vector<SplitVariable> variables;
  if (strategy.modelAxis.empty())
    return variables;
  for (auto variable : module->getOps<graph::VariableOp>()) {
    if (variable.getGroup() != "parameter")
      continue;
    auto type = cast<RankedTensorType>(variable.getType());
    SplitVariable one{variable.getSymName().str(), type.getShape().vec(), -1};
    if (auto sharding =
            dyn_cast_or_null<ShardingAttr>(variable.getShardingAttr()))
      for (unsigned dim = 0; dim < sharding.getNumDims(); ++dim)
        for (StringAttr axis : sharding.getAxes(dim))
          if (axis.getValue() == strategy.modelAxis)
            one.dim = dim;
    variables.push_back(std::move(one));
  }
  return variables;
}

std::optional<ExplainReport> Compilation::predict(Entries entries) {
  if (Status status = plan(); !status.ok()) {
    printer.keep(status.message());
    return std::nullopt;
  }
  if (failed(loadTrained()))
    return std::nullopt;
  if (failed(annotate()))
    return std::nullopt;
  if (failed(partition()))
    return std::nullopt;
  // A variable's split is one for all entries, which all have a say in it: only
  // now can those go that the step doesn't run.
  if (entries == Entries::OfAStep)
    keepStepEntries();
  OwningOpRef<ModuleOp> few = showFew();
  // Passes have not verified what they did: once, before it is lowered.
  if (failed(unroll()) || failed(mlir::verify(*module)))
    return std::nullopt;
  return makeReport(few.get());
}

std::vector<ModuleOp> Compilation::getServers() {
  std::vector<ModuleOp> modules;
  for (OwningOpRef<ModuleOp> &server : servers)
    modules.push_back(*server);
  return modules;
}

int Compilation::checkKernels(ModuleOp global, ModuleOp few) {
  std::vector<LoweringOptions> runs = {loweringOptions()};
  if (threads > 1) {
    runs.push_back(runs.front());
    runs.back().threads = 1;
  }
  int code = reportKernelCheck(global, *module, few, options, runs);
  for (ModuleOp server : getServers())
    code = std::max(code, reportKernelCheck(server, server, {}, options, runs));
  return code;
}

int Compilation::run() {
  if (Status status = plan(); !status.ok())
    return reportError(status);
  if (options.coverage)
    return printCoverage(&context, options, paddedBatch);
  if (failed(load()))
    return printer.exitCode();
  std::string stage = options.emit;
  if (stage.empty() && !options.explain.empty())
    stage = "explain";
  if (stage.empty())
    stage = !options.outFile.empty() ? "package"
            : options.check.empty()  ? "graph"
                                     : "partitioned";
  bool bytecode = StringRef(options.outFile).ends_with(".mlirbc");
  if (stage == "graph" && options.check.empty())
    return print(bytecode);
  if (failed(train()))
    return printer.exitCode();
  if (stage == "train")
    return print(bytecode);

  OwningOpRef<ModuleOp> global;
  if (!options.check.empty()) {
    // The oracle: the same ops under the same numbers, not split.
    if (failed(runPipeline(buildNumberPipeline)))
      return printer.exitCode();
    global = module->clone();
    // The whole step was there to compare with: nobody runs it.
    if (strategy.servers > 0)
      for (StringRef name : {"train_step", "train_step_partial"})
        if (auto step = module->lookupSymbol<func::FuncOp>(name))
          step.erase();
  }
  if (failed(annotate()))
    return printer.exitCode();
  if (stage == "annotated")
    return print(bytecode);
  if (failed(partition()))
    return printer.exitCode();
  // What is recomputed or started early is chosen among the copies.
  bool rolled = stage == "partitioned" && options.recompute.empty() &&
                !options.overlap && averaged == 1;
  if (rolled && options.check.empty() && options.memoryLimitGiB <= 0) {
    attachServers();
    return print(bytecode);
  }
  OwningOpRef<ModuleOp> written = rolled ? module->clone() : ModuleOp();
  OwningOpRef<ModuleOp> few;
  bool reports = stage == "explain" || options.memoryLimitGiB > 0;
  if (reports || stage == "package" || stage == "rt" || stage == "llvm" ||
      options.check == "kernels")
    few = showFew();
  if (failed(unroll()))
    return printer.exitCode();
  if (!options.check.empty()) {
    ModuleOp whole = unsplit ? *unsplit : *global;
    int code = options.check == "kernels" ? checkKernels(whole, few.get())
                                          : reportCheck(*global, whole, *module,
                                                        getServers(), options);
    // What is written is what was checked.
    if (code || (options.emit.empty() && options.explain.empty() &&
                 options.outFile.empty()))
      return code;
  }
  if (failed(averageWorkers()))
    return printer.exitCode();
  if (stage == "package")
    return emitPackage(std::move(few));
  if (reports) {
    std::optional<ExplainReport> report =
        makeReport(few.get(), /*details=*/options.explain == "html");
    if (!report || failed(checkMemory(*report)))
      return printer.exitCode();
    if (stage == "explain")
      return reportExplanation(*report, options);
  }
  if (stage == "partitioned") {
    if (written)
      module = std::move(written);
    attachServers();
    return print(bytecode);
  }
  if (stage == "onnx")
    return emitOnnx();
  if (stage == "rt" || stage == "llvm") {
    if (failed(lower(std::move(few), stage == "llvm")))
      return printer.exitCode();
    attachServers();
    return print(bytecode);
  }
  return reportError(Status::error(StatusCode::InvalidArgument,
                                   "this build cannot emit that", "--emit",
                                   "'" + stage + "' is not supported",
                                   "use graph, train, annotated, partitioned, "
                                   "explain, rt, llvm, package or onnx"));
}
