//===- KernelCheck.h - Compiled kernels against the evaluator -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_OPT_KERNELCHECK_H
#define TOOLS_DIST_OPT_KERNELCHECK_H

#include "passes/Lowering/Lowering.h"
#include "tools/options/options.h"

namespace mlir::dist {

/// Where this process keeps what `--check=kernels` compiles and compares; it
/// goes away at the end, and must when the process is interrupted.
std::string getKernelCheckFolder();

/// `--check=kernels`: lowers `local` as each of `runs` says, runs its kernels,
/// each on the evaluator's inputs, and its entries as a whole, by dist-run, and
/// compares. `few`: as lowerToPackage takes it; what runs as a whole is what a
/// package has. Prints what was found; 1 if a kernel or an entry diverges.
int reportKernelCheck(ModuleOp global, ModuleOp local, ModuleOp few,
                      const ::dist::tools::Options &options,
                      ArrayRef<LoweringOptions> runs);

} // namespace mlir::dist

#endif // TOOLS_DIST_OPT_KERNELCHECK_H
