//===- SplitDims.h - Ops that take split dims in parts -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vocabulary meets ops that want all of it: the lookup of tokens in a table
// along its rows, the softmax and the loss over the head's classes. Each is a
// sum of what the parts give (a row is in one of them; a softmax is made of a
// maximum and a sum), but says so only when written otherwise. The program
// computes the same before it is split.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_STRATEGY_SPLITDIMS_H
#define PASSES_STRATEGY_SPLITDIMS_H

#include "passes/Strategy/Annotate.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {

/// Variables and the dims along which a pass has split them.
using SplitDims = llvm::MapVector<graph::VariableOp, SmallVector<unsigned, 2>>;

/// Follows the split dims forward through all functions, and rewrites lookups
/// in split rows with their gradients (graph.gather_rows, scatter_add_rows) and
/// softmaxes and losses over split classes (as what they decompose to).
LogicalResult takeInParts(ModuleOp module, const VariableTable &table,
                          const SplitDims &splits);

} // namespace mlir::dist

#endif // PASSES_STRATEGY_SPLITDIMS_H
