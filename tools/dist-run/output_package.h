//===- output_package.h - The trained model as a package --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_RUN_OUTPUT_PACKAGE_H
#define TOOLS_DIST_RUN_OUTPUT_PACKAGE_H

#include "runtime/core/processes.h"
#include <string>

namespace dist::tools {

Status cannotWrite(const std::string &path, const std::string &why);

/// A copy of the package with the values of `manifest`'s variables in
/// weights.safetensors, and with parameter servers' parts of them in theirs.
/// Values that a package fills by itself (slots, counters) start anew.
Status writePackage(const std::string &package,
                    const manifest::Manifest &manifest,
                    const GlobalReader &read, const std::string &target);

} // namespace dist::tools

#endif // TOOLS_DIST_RUN_OUTPUT_PACKAGE_H
