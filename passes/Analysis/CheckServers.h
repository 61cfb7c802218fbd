//===- CheckServers.h - Workers and servers against one device --*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_CHECKSERVERS_H
#define PASSES_ANALYSIS_CHECKSERVERS_H

#include "passes/Analysis/CheckPartition.h"

namespace mlir::dist {

/// Evaluates a step of `whole`, on one device, and in its place the gradients
/// of `worker` and with them @apply of each of `servers`, from the same random
/// arguments; compares what becomes of every variable. One check for each of
/// the steps (full and partial batch) that both have. Fails, with errors
/// emitted, if something cannot be evaluated.
FailureOr<std::vector<FunctionCheck>> checkServers(ModuleOp whole,
                                                   ModuleOp worker,
                                                   ArrayRef<ModuleOp> servers,
                                                   const CheckOptions &options);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_CHECKSERVERS_H
