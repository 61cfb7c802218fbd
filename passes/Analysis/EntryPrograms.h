//===- EntryPrograms.h - The functions of an entry, what they take --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_ENTRYPROGRAMS_H
#define PASSES_ANALYSIS_ENTRYPROGRAMS_H

#include "passes/Analysis/Evaluator.h"

namespace mlir::dist {

/// The functions that the ranks run for an entry, by program.
SmallVector<func::FuncOp> findPrograms(ModuleOp module, StringRef entry);

/// An argument's or result's place in the whole entry; `position` is what it
/// has of kEntryIndexAttr, `number` which it is of its function.
int64_t getPosition(Attribute position, int64_t number);
int64_t getPosition(BlockArgument argument);

/// What `numRanks` ranks from `firstRank` on take of the entry's whole
/// arguments. `mesh` null: all.
SmallVector<RankTensors> cutArguments(func::FuncOp program, MeshOp mesh,
                                      ArrayRef<HostTensor> arguments,
                                      int64_t firstRank, int64_t numRanks);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_ENTRYPROGRAMS_H
