//===- Reports.cpp - What dist-opt tells instead of compiling -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/Reports.h"
#include "dialects/Graph/IR/Graph.h"
#include "mlir/IR/MLIRContext.h"
#include "passes/Analysis/CheckPartition.h"
#include "passes/Analysis/CheckServers.h"
#include "runtime/core/one_line.h"
#include "runtime/formats/file.h"
#include "tools/dist-opt/CheckOptions.h"
#include "tools/dist-opt/Compilation.h"
#include "tools/dist-opt/Planner.h"
#include "tools/options/cluster.h"
#include "tools/options/interrupt.h"
#include "tools/options/strategies.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;
using ::dist::tools::Options;

/// Pads to `width` for tables.
static std::string cell(llvm::StringRef text, size_t width) {
  std::string padded = text.str();
  padded.resize(std::max(width, padded.size()), ' ');
  return padded;
}

int mlir::dist::reportError(const ::dist::Status &status) {
  ::dist::tools::waitIfEnding();
  llvm::errs() << ::dist::tools::errorLine("dist-opt", status) << "\n";
  return ::dist::tools::exitCodeOf(status.code());
}

/// Where -o says, else on stdout.
static int write(const std::string &text, const Options &options) {
  if (options.outFile.empty() || options.outFile == "-") {
    llvm::outs() << text;
    return 0;
  }
  ::dist::tools::Shield shield("writing the output");
  ::dist::Status status = ::dist::writeFile(options.outFile, text);
  return status.ok() ? 0 : reportError(status);
}

static int writePage(const ExplainReport &report, const Options &options) {
  PageOptions page;
  page.title = llvm::sys::path::filename(options.model).str() + ", " +
               ::dist::tools::formatStrategies(options.strategies);
  if (!options.traceFile.empty()) {
    std::shared_ptr<const ::dist::FileBytes> file;
    if (::dist::Status status =
            ::dist::FileBytes::open(options.traceFile, &file);
        !status.ok())
      return reportError(status);
    // An empty text would be none.
    page.trace = file->bytes().empty() ? " " : std::string(file->bytes());
  }
  std::string error;
  FailureOr<std::string> text = formatExplainPage(report, page, error);
  if (failed(text))
    return reportError(::dist::Status::error(
        ::dist::StatusCode::InvalidInput, "cannot read the trace",
        options.traceFile, error, "give a file of dist-run --trace"));
  return write(*text, options);
}

int mlir::dist::reportExplanation(const ExplainReport &report,
                                  const Options &options) {
  if (options.explain == "html")
    return writePage(report, options);
  return write(options.explain == "json" ? formatExplainJson(report)
                                         : formatExplainTable(report),
               options);
}

int mlir::dist::reportDiff(const std::vector<std::string> &arguments,
                           const Options &options,
                           const DialectRegistry &registry,
                           const Machine &machine) {
  // What is wrong with the words of either side is said before any work.
  std::vector<Options> sides(options.diff.size());
  for (size_t i = 0; i < sides.size(); ++i)
    if (::dist::Status status =
            ::dist::tools::parseSide(arguments, options.diff[i], &sides[i]);
        !status.ok())
      return reportError(status);
  for (const Options &side : sides)
    if (failed(checkOptions(side)))
      return 2;
  std::vector<ExplainReport> reports;
  for (size_t i = 0; i < sides.size(); ++i) {
    if (sides[i].strategies.front().name == "auto")
      if (int code = chooseStrategy(sides[i], registry, machine))
        return code;
    std::string error;
    TrainedModels trained(registry, machine);
    std::optional<ExplainReport> report =
        Compilation(sides[i], trained, &error).predict();
    if (!report)
      return reportError(::dist::Status::error(
          ::dist::StatusCode::InvalidInput, "cannot compare", options.diff[i],
          error, "give a strategy that fits the model and the devices"));
    reports.push_back(std::move(*report));
  }
  ComparedStrategy a{options.diff[0], reports[0]},
      b{options.diff[1], reports[1]};
  return write(options.explain == "json" ? formatDiffJson(a, b)
                                         : formatDiffTable(a, b),
               options);
}

int mlir::dist::reportCheck(ModuleOp global, ModuleOp whole, ModuleOp local,
                            ArrayRef<ModuleOp> servers,
                            const Options &options) {
  int64_t needed = estimateCheckBytes(global);
  if (int64_t free = std::min<size_t>(::dist::availableMemory(), INT64_MAX);
      needed > free) {
    auto inGiB = [](int64_t bytes) {
      return llvm::formatv("{0:f1} GiB", double(bytes) / (1 << 30)).str();
    };
    return reportError(::dist::Status::error(
        ::dist::StatusCode::Unavailable, "the check needs too much memory",
        "--check",
        "it holds all values of a step, " + inGiB(needed) + ", and " +
            inGiB(free) + " are free",
        "use a smaller --batch-size"));
  }
  CheckOptions check;
  check.seed = options.seed;
  FailureOr<std::vector<FunctionCheck>> checks =
      checkPartition(whole, local, check);
  if (failed(checks))
    return 1;
  if (!servers.empty()) {
    FailureOr<std::vector<FunctionCheck>> steps =
        checkServers(global, local, servers, check);
    if (failed(steps))
      return 1;
    checks->insert(checks->end(), steps->begin(), steps->end());
  }
  // A page or JSON is for programs: nothing stands before it.
  bool isAlone = options.explain.empty() || options.explain == "table";
  (isAlone ? llvm::outs() : llvm::errs()) << formatCheck(*checks);
  return isEqual(*checks) ? 0 : 1;
}

static void printOps(const DialectRegistry &registry) {
  MLIRContext context(registry);
  context.loadDialect<graph::GraphDialect>();
  for (RegisteredOperationName name :
       context.getRegisteredOperationsByDialect("graph"))
    llvm::outs()
        << cell(name.getStringRef(), 28)
        << (name.hasInterface<DifferentiableOpInterface>() ? "differentiable  "
                                                           : "                ")
        << (name.hasInterface<ShardingRuleOpInterface>() ? "sharding rule  "
                                                         : "               ")
        << (name.hasInterface<DecomposableOpInterface>() ? "composite" : "")
        << "\n";
}

/// What the devices are made of is told where there is no cluster.
static int printCluster(const Options &options) {
  ::dist::tools::ClusterReport report = ::dist::tools::describeCluster(options);
  if (report.text.empty() && report.faults.empty())
    report.text = llvm::formatv("worker 0: this machine, {0} usable cores\n",
                                countUsableThreads())
                      .str();
  llvm::outs() << report.text;
  llvm::outs().flush();
  for (const std::string &note : report.notes)
    llvm::errs() << "dist-opt: note: " << ::dist::onOneLine(note) << "\n";
  int code = 0;
  for (const ::dist::Status &fault : report.faults)
    code = std::max(code, reportError(fault));
  return code;
}

int mlir::dist::printTables(const Options &options,
                            const DialectRegistry &registry) {
  if (options.printStrategies)
    llvm::outs() << ::dist::tools::strategyGuide();
  if (options.printOps)
    printOps(registry);
  return options.printCluster ? printCluster(options) : 0;
}
