//===- Reports.h - What dist-opt tells instead of compiling -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_OPT_REPORTS_H
#define TOOLS_DIST_OPT_REPORTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "passes/Analysis/Explain.h"
#include "tools/dist-opt/Machine.h"
#include "tools/options/options.h"

namespace mlir::dist {

/// Prints the error; the exit code for it.
int reportError(const ::dist::Status &status);

/// `--explain`: the report as a table, JSON or a page, on stdout or in the -o
/// file. The exit code.
int reportExplanation(const ExplainReport &report,
                      const ::dist::tools::Options &options);

/// `--diff A B`: the strategies beside each other, as a table or JSON.
/// `arguments` are those of the command line. The exit code.
int reportDiff(const std::vector<std::string> &arguments,
               const ::dist::tools::Options &options,
               const DialectRegistry &registry, const Machine &machine);

/// `--check`: the partitioned module on simulated ranks against `whole`, which
/// it was made of, and with `servers` a step by them against that of `global`.
/// Prints the largest difference; 1 if an op diverges.
int reportCheck(ModuleOp global, ModuleOp whole, ModuleOp local,
                ArrayRef<ModuleOp> servers,
                const ::dist::tools::Options &options);

/// `--print-strategies`, `--print-ops`, `--print-cluster`.
int printTables(const ::dist::tools::Options &options,
                const DialectRegistry &registry);

} // namespace mlir::dist

#endif // TOOLS_DIST_OPT_REPORTS_H
