//===- StableHlo.h - StableHLO modules to the graph dialect -----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function as JAX lowers it, in MLIR's generic form: the parser then needs no
// StableHLO, whose ops it keeps as unregistered ones. Calls are followed, loops
// of a known number of rounds are written out.
//
// What `@main` takes is an input, unless it says that it is a variable:
//   {graph.role = "variable", graph.variable = @name, graph.initial =
//   dense<..>,
//    graph.trainable}
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IMPORT_STABLEHLO_H
#define DIALECTS_GRAPH_IMPORT_STABLEHLO_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::dist::graph {

/// On a variable's argument of `@main`: its value at the start, and whether it
/// is trained.
inline constexpr llvm::StringLiteral kInitialAttr = "graph.initial";
inline constexpr llvm::StringLiteral kTrainableAttr = "graph.trainable";

/// Whether a module has ops of StableHLO.
bool isStableHlo(ModuleOp module);

/// The module in the graph dialect. Errors go to the context's diagnostics.
FailureOr<OwningOpRef<ModuleOp>> importStableHlo(ModuleOp source);

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IMPORT_STABLEHLO_H
