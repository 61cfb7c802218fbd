//===- Machine.h - What this machine's devices can do -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_OPT_MACHINE_H
#define TOOLS_DIST_OPT_MACHINE_H

#include "passes/Analysis/Explain.h"
#include "tools/options/options.h"

namespace mlir::dist {

/// The figures that `dist-run bench --calibrate` has stored (`--machine FILE`,
/// else the default place); the built-in ones where there are none. Of devices
/// of so many threads.
MachineModel readMachine(const ::dist::tools::Options &options,
                         int64_t threads);

/// Whose figures those are, for a heading.
std::string describeMachine(const ::dist::tools::Options &options);

} // namespace mlir::dist

#endif // TOOLS_DIST_OPT_MACHINE_H
