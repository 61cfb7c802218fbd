//===- ModelFile.cpp - A model file as a module -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/ModelFile.h"
#include "passes/Lowering/Package/FileError.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/Import/Importer.h"
#include "dialects/Graph/Import/StableHlo.h"
#include "dialects/Interfaces/Cost.h"
#include "mlir/IR/Location.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "runtime/formats/file.h"
#include "runtime/formats/foreign.h"
#include "runtime/formats/mlir_file.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;
using ::dist::Status;
using ::dist::tools::Options;

static FailureOr<graph::ImportOptions>
getImportOptions(MLIRContext *context, const Options &options,
                 int64_t batchSize,
                 ::dist::Dependencies *dependencies = nullptr) {
  graph::ImportOptions import;
  import.access = ::dist::FileAccess::Map; // main guards against truncation
  import.dependencies = dependencies;
  import.batchSize = batchSize;
  import.dims = options.dims;
  import.trainRegex = options.trainRegex;
  import.freezeRegex = options.freezeRegex;
  import.untieRegex = options.untieRegex;
  import.outputs = options.keptOutputs;
  import.signature = options.signature;
  // Who trains takes any numbers; a prediction that is random is asked for.
  if (options.seedGiven || !options.losses.empty())
    import.seed = options.seed;
  for (const auto &[name, file] : options.binds) {
    FailureOr<HostTensor> value =
        graph::readTensorFile(context, file, dependencies);
    if (failed(value))
      return failure();
    import.bindings.emplace(name, *value);
  }
  return import;
}

/// Fails where a module has annotations in the words of another partitioner:
/// they would be ignored, or stand in the strategy's way.
static LogicalResult checkForeignAnnotations(ModuleOp module) {
  static constexpr std::pair<StringLiteral, StringLiteral> foreign[] = {
      {"sdy", "dist-import-sdy"}, {"shard", "dist-import-shard"}};
  WalkResult result = module.walk([&](Operation *op) {
    // How other partitioners may split a call is no wish to have it split.
    if (op->getName().getStringRef() == "stablehlo.custom_call")
      return WalkResult::advance();
    SmallVector<StringRef> names = {op->getName().getStringRef()};
    auto collect = [&](ArrayRef<NamedAttribute> attributes) {
      for (NamedAttribute attribute : attributes)
        names.push_back(attribute.getName());
    };
    collect(llvm::to_vector(op->getDiscardableAttrs()));
    if (auto function = dyn_cast<FunctionOpInterface>(op)) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        collect(function.getArgAttrs(i));
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        collect(function.getResultAttrs(i));
    }
    for (StringRef name : names)
      for (const auto &[dialect, pass] : foreign)
        if (name.split('.').first == dialect && name.size() > dialect.size()) {
          emitError(op->getLoc())
              << "the model is annotated with '" << name << "': only the pass "
              << pass << " reads that; run 'dist-opt MODEL --" << pass
              << " --dist-partition-pipeline', or take the annotations out and "
                 "give a --strategy";
          return WalkResult::interrupt();
        }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

OwningOpRef<ModuleOp>
mlir::dist::loadModel(MLIRContext *context, const Options &options,
                      int64_t batchSize, bool *isImported,
                      ::dist::Dependencies *dependencies) {
  Location loc = FileLineColLoc::get(context, options.model, 0, 0);
  if (llvm::sys::fs::exists(options.model + "/manifest")) {
    emitError(loc) << "a package is compiled already; give the model file that "
                      "it is of, or run it with dist-run";
    return nullptr;
  }
  if (Status foreign = ::dist::checkForeignFolder(options.model);
      !foreign.ok()) {
    emitError(loc) << foreign.message();
    return nullptr;
  }
  std::shared_ptr<const ::dist::FileBytes> file;
  if (Status status = ::dist::FileBytes::open(options.model, &file,
                                              ::dist::FileAccess::Map);
      !status.ok()) {
    InFlightDiagnostic error = emitError(loc) << status.message();
    if (status.code() == ::dist::StatusCode::Unavailable)
      markFileError(error);
    return nullptr;
  }
  StringRef bytes = file->bytes();
  bool isMlir = ::dist::isMlirFile(bytes, options.model);
  *isImported = !isMlir;
  if (isMlir) {
    if (Status foreign = ::dist::checkForeignFile(bytes, options.model);
        !foreign.ok()) {
      emitError(loc) << foreign.message();
      return nullptr;
    }
    if (dependencies)
      dependencies->add(options.model, bytes);
    // StableHLO is read without its dialect, in the generic form.
    bool allowed = context->allowsUnregisteredDialects();
    context->allowUnregisteredDialects(allowed ||
                                       ::dist::isGenericStableHlo(bytes));
    llvm::scope_exit restore(
        [&] { context->allowUnregisteredDialects(allowed); });
    ParserConfig config(context);
    auto module = parseSourceFile<ModuleOp>(options.model, config);
    if (module && failed(checkForeignAnnotations(*module)))
      return nullptr;
    if (module && graph::isStableHlo(*module)) {
      FailureOr<OwningOpRef<ModuleOp>> imported =
          graph::importStableHlo(*module);
      if (failed(imported))
        return nullptr;
      module = std::move(*imported);
    }
    if (module)
      for (auto function : module->getOps<FunctionOpInterface>())
        if (failed(checkByteSizes(function)))
          return nullptr;
    if (module && failed(applyModuleOptions(*module, options)))
      return nullptr;
    return module;
  }
  FailureOr<graph::ImportOptions> import =
      getImportOptions(context, options, batchSize, dependencies);
  if (failed(import))
    return nullptr;
  FailureOr<OwningOpRef<ModuleOp>> module =
      graph::importModel(context, options.model, *import);
  return failed(module) ? nullptr : std::move(*module);
}

int mlir::dist::printCoverage(MLIRContext *context, const Options &options,
                              int64_t batchSize) {
  FailureOr<graph::ImportOptions> import =
      getImportOptions(context, options, batchSize);
  if (failed(import))
    return 1;
  FailureOr<graph::Coverage> coverage =
      graph::importCoverage(context, options.model, *import);
  if (failed(coverage))
    return 1;
  size_t width = 4, missing = 0;
  for (const graph::CoverageRow &row : coverage->rows)
    width = std::max(width, row.node.size());
  llvm::outs() << llvm::left_justify("node", width + 2)
               << llvm::left_justify("op", 28)
               << "opset  differentiable  split by  kernel     imported\n";
  for (const graph::CoverageRow &row : coverage->rows) {
    llvm::outs() << llvm::left_justify(row.node, width + 2)
                 << llvm::left_justify(row.op, 28)
                 << llvm::format("%5lld  ", (long long)row.opset)
                 << llvm::left_justify(row.differentiable, 16)
                 << llvm::left_justify(row.split, 10)
                 << llvm::left_justify(row.kernel, 11)
                 << (row.supported ? "yes" : "no: " + row.reason) << "\n";
    missing += !row.supported;
  }
  llvm::outs() << coverage->rows.size() - missing << " of "
               << coverage->rows.size() << " nodes can be imported"
               << (coverage->refused ? ", but the file is refused" : "")
               << "\n";
  for (const std::string &note : coverage->notes)
    llvm::outs() << "warning: " << note << "\n";
  return missing || coverage->refused ? 1 : 0;
}
