//===- Driver.h - From the command line to a compiled package -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_OPT_DRIVER_H
#define TOOLS_DIST_OPT_DRIVER_H

#include "mlir/IR/DialectRegistry.h"
#include <string>
#include <vector>

namespace mlir::dist {

/// Runs dist-opt on a model file; gives the exit code of cli.md: 0, 1 when the
/// input is at fault, 2 on wrong usage, 3 when the file system fails.
int runDriver(const std::vector<std::string> &arguments,
              const DialectRegistry &registry);

} // namespace mlir::dist

#endif // TOOLS_DIST_OPT_DRIVER_H
