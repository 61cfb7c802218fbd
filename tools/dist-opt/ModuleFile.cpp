//===- ModuleFile.cpp - What options say of a module -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR is a model that has been imported: which variables are trained can still
// be chosen, shapes and names cannot.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Dist.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Ports.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Graph/Entry.h"
#include "tools/dist-opt/Compilation.h"
#include "tools/dist-opt/ModelFile.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace mlir::dist;
using ::dist::tools::Options;

/// Fails where an option is of importing, which is done.
static LogicalResult checkNoImport(ModuleOp module, const Options &options) {
  Location loc = UnknownLoc::get(module.getContext()); // it is the option's
  if (!options.batchSizes.empty())
    return emitError(loc)
           << "the shapes of a module are as they are (--batch-sizes): only a "
              "model file that leaves its batch open can be imported for "
              "several; leave --batch-sizes out";
  if (!options.dims.empty())
    return emitError(loc)
           << "the shapes of a module are as they are (--dim "
           << options.dims.begin()->first
           << "): only a model file has dims with names; leave --dim out";
  struct Row {
    StringRef option;
    bool given;
    StringRef why;
  };
  const Row rows[] = {
      {"--bind", !options.binds.empty(),
       "an input's value is compiled in when a model file is imported"},
      {"--untie", !options.untieRegex.empty(),
       "it has its variables, where a model file has initializers"},
      {"--outputs", !options.keptOutputs.empty(),
       "values of a model file have names, which a module's have not"},
      {"--signature", !options.signature.empty(),
       "only a SavedModel has signatures"}};
  for (const Row &row : rows)
    if (row.given)
      return emitError(loc) << "a module is imported already (" << row.option
                            << "): " << row.why << "; leave " << row.option
                            << " out, or give the model file";
  return success();
}

/// --train and --freeze, as for a model file: of variables of floats.
static LogicalResult chooseTrained(ModuleOp module, StringRef option,
                                   StringRef text, bool trains) {
  if (text.empty())
    return success();
  auto refuse = [&](const llvm::Twine &why) {
    return emitError(module.getLoc())
           << "bad " << option << " '" << text << "': " << why;
  };
  llvm::Regex regex(text);
  if (std::string problem; !regex.isValid(problem))
    return refuse(problem);
  for (StringRef name : {"train_step", "gradients"})
    if (graph::findEntry(module, name))
      return refuse("the module has its '" + name +
                    "' already; give the model that it is of");
  bool any = false;
  for (auto variable : module.getOps<graph::VariableOp>()) {
    auto type = cast<ShapedType>(variable.getType());
    if (!isa<FloatType>(type.getElementType()) ||
        !regex.match(variable.getSymName()))
      continue;
    any = true;
    variable.setTrainable(trains);
    variable.setWhy((option + " " + text).str());
  }
  return any ? LogicalResult(success())
             : refuse("it matches no variable of the model");
}

LogicalResult mlir::dist::applyModuleOptions(ModuleOp module,
                                             const Options &options) {
  return failure(
      failed(checkNoImport(module, options)) ||
      failed(chooseTrained(module, "--train", options.trainRegex, true)) ||
      failed(chooseTrained(module, "--freeze", options.freezeRegex, false)));
}

/// Fails where a function has what only other compilers know.
static LogicalResult checkOps(func::FuncOp function) {
  WalkResult result = function.walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (auto call = dyn_cast<func::CallOp>(op)) {
      op->emitError() << "calls are not followed: '" << function.getSymName()
                      << "' calls '" << call.getCallee()
                      << "'; write it out with dist-opt MODEL --inline "
                         "--symbol-dce";
      return WalkResult::interrupt();
    }
    if (dialect == "graph" || dialect == "dist" || dialect == "func" ||
        dialect == "cf")
      return WalkResult::advance();
    op->emitError() << "'" << op->getName()
                    << "' cannot be compiled: a model is of the ops of "
                       "'graph'; write it in these (--print-ops)";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Fails where two inputs or outputs have one name: one file would be both.
static LogicalResult checkNames(func::FuncOp function) {
  auto check = [&](bool results) -> LogicalResult {
    llvm::StringSet<> names;
    unsigned count =
        results ? function.getNumResults() : function.getNumArguments();
    for (unsigned i = 0; i < count; ++i) {
      DictionaryAttr ports =
          results ? function.getResultAttrDict(i) : function.getArgAttrDict(i);
      auto name = ports ? ports.getAs<StringAttr>(kNameAttr) : StringAttr();
      StringRef role = results ? graph::getResultRole(function, i)
                               : graph::getArgumentRole(function, i);
      if (name && role == (results ? "output" : "input") &&
          !names.insert(name).second)
        return function.emitError()
               << "two " << role << "s of '" << function.getSymName()
               << "' are named '" << name.getValue()
               << "'; give each a graph.name of its own";
    }
    return success();
  };
  return failure(failed(check(false)) || failed(check(true)));
}

/// Whether an option tells what a training step does.
static bool isOfTraining(StringRef option) {
  static constexpr StringLiteral options[] = {
      "--loss",           "--loss-weights",   "--loss-output",
      "--from-logits",    "--sample-weights", "--class-weights",
      "--optimizer",      "--lr-schedule",    "--settable-lr",
      "--metrics",        "--precision",      "--sync-batch-norm",
      "--on-nonfinite",   "--accumulate",     "--recompute",
      "--clip-norm",      "--clip-value",     "--weight-decay",
      "--input-gradients"};
  return llvm::is_contained(options, option);
}

LogicalResult mlir::dist::checkStage(ModuleOp module, const Options &options) {
  for (Operation &op : *module.getBody()) {
    StringRef dialect = op.getName().getDialectNamespace();
    bool isCompiled = dialect == "rt" || dialect == "llvm";
    // Of one rank's shapes a package would take a part for the batch.
    if (isCompiled || isa<MeshOp>(op))
      return op.emitError() << "a module of a later stage is no model: "
                            << (isCompiled ? "it is compiled already"
                                           : "it has a mesh, so that it is "
                                             "split already")
                            << "; give the model file or what --emit=graph "
                               "writes, with --strategy if it is to be split, "
                               "or run passes on it (--help-passes)";
  }
  if (module.getOps<func::FuncOp>().empty())
    return module.emitError() << "there is nothing to compile: the module has "
                                 "no function; give one with @predict, as "
                                 "--emit=graph writes it";
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(checkOps(function)) || failed(checkNames(function)))
      return failure();
  StringRef step;
  for (StringRef name : {"train_step", "gradients"})
    if (step.empty() && graph::findEntry(module, name))
      step = name;
  // What a step that is there does is in it; where none is made nothing reads
  // them.
  if (step.empty() && !options.losses.empty())
    return success();
  for (const std::string &word : options.compileArguments) {
    StringRef option = StringRef(word).split('=').first;
    if (!isOfTraining(option) || (step.empty() && option == "--precision"))
      continue;
    auto error = emitError(UnknownLoc::get(module.getContext()));
    if (step.empty())
      return error << option << " is of training, and there is no loss: the "
                   << "model would be compiled to predict alone; add --loss "
                   << "NAME, or leave " << option << " out";
    return error << "the module's step is made already (" << option
                 << "): it has its '" << step << "'; leave " << option
                 << " out (dist-run then wants the package that dist-opt makes "
                    "of it), or give the model that it is of";
  }
  return success();
}

int64_t mlir::dist::findModuleRows(ModuleOp module) {
  for (auto entry : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
      auto dim = entry.getArgAttrOfType<IntegerAttr>(i, kBatchDimAttr);
      auto type = dyn_cast<RankedTensorType>(entry.getArgumentTypes()[i]);
      if (dim && type && graph::getArgumentRole(entry, i) == "input" &&
          dim.getInt() >= 0 && dim.getInt() < type.getRank())
        return type.getDimSize(dim.getInt());
    }
  return 0;
}

LogicalResult Compilation::takeModuleBatch() {
  int64_t rows = trained.moduleRows;
  if (rows <= 0)
    return success();
  bool isGiven = options.batchSize.value > 0;
  // Fewer are a part of its batch, as the last of an epoch may be.
  if (isGiven && batch > rows)
    return emitError(UnknownLoc::get(&context))
           << "the shapes of a module are as they are (--batch-size): its "
              "batch is of "
           << rows * averaged << " examples, not of " << globalBatch
           << "; leave --batch-size out, or give the model file";
  if (isGiven)
    return success();
  globalBatch = rows * averaged;
  // None was assumed where nothing is trained, or weights have been checked.
  if (batch == 0 || !strategy.weights.empty())
    return success();
  batch = rows;
  paddedBatch = (batch + replicas - 1) / replicas * replicas;
  return success();
}
