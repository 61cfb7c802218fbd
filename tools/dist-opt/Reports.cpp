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
#include "passes/Analysis/Explain.h"
#include "passes/Lowering/Lowering.h"
#include "runtime/formats/file.h"
#include "tools/options/strategies.h"
#include "llvm/Support/FormatVariadic.h"
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
  llvm::errs() << ::dist::tools::errorLine("dist-opt", status) << "\n";
  return ::dist::tools::exitCodeOf(status.code());
}

int mlir::dist::reportExplanation(ModuleOp module, const Options &options,
                                  int64_t threads) {
  MachineModel machine;
  machine.threads = threads;
  ExplainReport report = explain(module, machine);
  std::string text = options.explain == "json" ? formatExplainJson(report)
                                               : formatExplainTable(report);
  if (options.outFile.empty() || options.outFile == "-") {
    llvm::outs() << text;
    return 0;
  }
  ::dist::Status status = ::dist::writeFile(options.outFile, text);
  return status.ok() ? 0 : reportError(status);
}

int mlir::dist::reportCheck(ModuleOp global, ModuleOp local, uint64_t seed) {
  CheckOptions options;
  options.seed = seed;
  FailureOr<std::vector<FunctionCheck>> checks =
      checkPartition(global, local, options);
  if (failed(checks))
    return 1;
  llvm::outs() << formatCheck(*checks);
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

static void printCluster() {
  llvm::outs() << "worker 0: this machine, " << countUsableThreads()
               << " usable cores\n";
}

int mlir::dist::printTables(const Options &options,
                            const DialectRegistry &registry) {
  if (options.printStrategies)
    llvm::outs() << ::dist::tools::strategyGuide();
  if (options.printOps)
    printOps(registry);
  if (options.printCluster)
    printCluster();
  return 0;
}
