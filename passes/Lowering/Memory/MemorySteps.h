//===- MemorySteps.h - The steps of a memory layout -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// layOutMemory's first two steps: which values have one storage, and which
// storages are the variables' and results' own. What is left gets memory in
// MemoryLayout.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_MEMORY_MEMORYSTEPS_H
#define PASSES_LOWERING_MEMORY_MEMORYSTEPS_H

#include "passes/Lowering/Memory/MemoryLayout.h"

namespace mlir::dist {

/// Gives every value a storage, those that share memory one, and says when
/// each is alive.
void makeStorages(Block &block, MemoryLayout &layout);

/// Lets results lie where the caller wants them: new values of variables in
/// place of the old ones where these are read no more, others in their
/// result. What cannot is copied at the end.
void bindResults(func::FuncOp func, const SymbolTable &symbols,
                 MemoryLayout &layout);

} // namespace mlir::dist

#endif // PASSES_LOWERING_MEMORY_MEMORYSTEPS_H
