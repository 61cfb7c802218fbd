//===- Bindings.h - What arguments of an entry stand for -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_PROGRAM_BINDINGS_H
#define PASSES_LOWERING_PROGRAM_BINDINGS_H

#include "dialects/Rt/IR/Rt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// On a function or program: the entry whose prepared arguments it fills. Its
/// bindings are the entry's.
constexpr llvm::StringLiteral kPrepares = "rt.prepares";

/// On a prepared argument in a layout of the library's, so that its size is
/// that machine's that runs it: `{kernel, memory, source}`, as of the
/// manifest's Packed.
constexpr llvm::StringLiteral kPacked = "rt.packed";

/// On a program: for each slot behind its arguments and results, what it holds
/// by turns, as `{kernel, memory}`.
constexpr llvm::StringLiteral kSlots = "rt.slots";

/// The device's state that an argument or result of these attributes is: a
/// variable's symbol, or a prepared buffer's name. Null for inputs and outputs.
Attribute getStateName(DictionaryAttr attributes);

/// Whether the argument is a weight (parameter, buffer or constant) that the
/// function leaves as it is: what is computed from such alone stays right until
/// a variable is written from outside.
bool isUnchangedWeight(BlockArgument argument);

/// Which of a mesh's programs a function or program is part of, and what runs
/// it: as that of `from`.
void setWhereItRuns(Operation *to, Operation *from);

/// The memory that a function or program computes in.
rt::MemorySpace getMemory(Operation *function);

/// Threads that run the function, where a device has `threads`: the host works
/// while all devices wait, with the threads of all.
int64_t getThreads(func::FuncOp function, int64_t threads);

} // namespace mlir::dist

#endif // PASSES_LOWERING_PROGRAM_BINDINGS_H
