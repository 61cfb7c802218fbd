//===- ImportedFunction.h - What importers of nodes share -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IMPORT_IMPORTEDFUNCTION_H
#define DIALECTS_GRAPH_IMPORT_IMPORTEDFUNCTION_H

#include "dialects/Graph/Import/Emitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist::graph {

/// Erases a function's ops that nothing uses, and its module's variables that
/// it does not read.
void eraseUnused(func::FuncOp function);

/// Makes the variable that counts steps for what draws random numbers, which
/// training advances, and reads it at the function's start. `builder` is the
/// emitter's.
Value makeStepCounter(Emitter &emitter, OpBuilder &builder,
                      func::FuncOp function);

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IMPORT_IMPORTEDFUNCTION_H
