//===- Planner.h - --strategy auto -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_OPT_PLANNER_H
#define TOOLS_DIST_OPT_PLANNER_H

#include "mlir/IR/DialectRegistry.h"
#include "tools/dist-opt/Machine.h"
#include "tools/options/options.h"

namespace mlir::dist {

/// Compiles the model for every strategy and mesh that the devices allow, as
/// far as the program of one rank, and takes the one whose predicted step is
/// the shortest of those that fit `--memory-limit`. Prints what it weighed on
/// stderr (on stdout with --explain) and replaces strategy, mesh and devices in
/// `options`; `--save-plan` keeps them as a file. Gives an exit code: 0, or
/// that of an error when nothing fits.
int chooseStrategy(::dist::tools::Options &options,
                   const DialectRegistry &registry, const Machine &machine);

} // namespace mlir::dist

#endif // TOOLS_DIST_OPT_PLANNER_H
