//===- PlannedMemory.h - What a device allocates ----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_MEMORY_PLANNEDMEMORY_H
#define PASSES_LOWERING_MEMORY_PLANNEDMEMORY_H

#include "passes/Analysis/Explain.h"
#include "passes/Lowering/Lowering.h"

namespace mlir::dist {

/// Puts into the report what its entries' programs, made of the same module
/// with their memory planned, will allocate of a device: variables and prepared
/// weights of all entries of a program, copies of what these send, what
/// messages between processes are packed in and summed up from, the entry's
/// arena, and what this machine's library lays out for kernels of so many
/// threads a device. And what its processes will send each other (see
/// SentMessages.h).
LogicalResult addPlannedMemory(ModuleOp programs,
                               const LoweringOptions &options,
                               ExplainReport &report);

} // namespace mlir::dist

#endif // PASSES_LOWERING_MEMORY_PLANNEDMEMORY_H
