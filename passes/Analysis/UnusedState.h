//===- UnusedState.h - Variables that no entry has any more -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_UNUSEDSTATE_H
#define PASSES_ANALYSIS_UNUSEDSTATE_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// Erases the variables of these groups that no function takes or returns.
void eraseUnusedState(ModuleOp module, ArrayRef<StringRef> groups);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_UNUSEDSTATE_H
