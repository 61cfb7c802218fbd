//===- ProgramEmitter.h - A function with a layout becomes a program ------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_PROGRAM_PROGRAMEMITTER_H
#define PASSES_LOWERING_PROGRAM_PROGRAMEMITTER_H

#include "passes/Lowering/Memory/MemoryLayout.h"

namespace mlir::dist {

/// Replaces the function by an rt.program of its name: straight-line calls over
/// the addresses of the layout.
LogicalResult emitProgram(func::FuncOp func, MemoryLayout &layout,
                          SymbolTable &symbols);

} // namespace mlir::dist

#endif // PASSES_LOWERING_PROGRAM_PROGRAMEMITTER_H
