//===- Manifest.h - What a package says of itself -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_PACKAGE_MANIFEST_H
#define PASSES_LOWERING_PACKAGE_MANIFEST_H

#include "passes/Lowering/Lowering.h"

namespace mlir::dist {

/// Fills in mesh, variables, entries and library kernels from a module of
/// rt.programs (before rt-to-llvm) and the machine's names.
LogicalResult fillManifest(ModuleOp module, const LoweringOptions &options,
                           ::dist::manifest::Manifest *manifest);

/// Writes the initial values that are no fills; nothing if there are none.
LogicalResult writeWeights(ModuleOp module, StringRef path);

} // namespace mlir::dist

#endif // PASSES_LOWERING_PACKAGE_MANIFEST_H
