//===- DebugOptions.h - MLIR's switches on model files ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What mlir-opt offers to look into a compilation (--mlir-timing,
// --mlir-print-ir-after-all, --debug-only=...) works on model files, too.
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_OPT_DEBUGOPTIONS_H
#define TOOLS_DIST_OPT_DEBUGOPTIONS_H

#include "runtime/core/status.h"
#include "mlir/Pass/PassManager.h"
#include <string>
#include <vector>

namespace mlir::dist {

/// Takes MLIR's switches out of `arguments` and remembers them. One that this
/// MLIR does not have is wrong usage.
::dist::Status takeDebugOptions(std::vector<std::string> &arguments);

/// Has the pipeline do what was asked for.
void applyDebugOptions(PassManager &pm);

} // namespace mlir::dist

#endif // TOOLS_DIST_OPT_DEBUGOPTIONS_H
