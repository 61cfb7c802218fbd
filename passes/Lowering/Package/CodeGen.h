//===- CodeGen.h - Objects and a shared library -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_PACKAGE_CODEGEN_H
#define PASSES_LOWERING_PACKAGE_CODEGEN_H

#include "passes/Lowering/Lowering.h"

namespace mlir::dist {

/// Compiles a module of the LLVM dialect into the shared object `path`;
/// kernels are spread over as many jobs as there are cores. Objects are put
/// beside it and removed. Emits an error on failure.
LogicalResult generateSharedObject(ModuleOp module,
                                   const LoweringOptions &options,
                                   StringRef path);

} // namespace mlir::dist

#endif // PASSES_LOWERING_PACKAGE_CODEGEN_H
