//===- RandomState.h - What random numbers depend on -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_RANDOMSTATE_H
#define DIALECTS_GRAPH_IR_RANDOMSTATE_H

#include "llvm/ADT/StringRef.h"

namespace mlir::dist::graph {

/// The variable that counts the steps of what draws random numbers: the
/// importer reads it, training advances it.
inline constexpr llvm::StringLiteral kStepCounter = "random/step";

/// Of a dropout (an i64): which stream of random numbers it draws from.
inline constexpr llvm::StringLiteral kStreamAttr = "graph.stream";

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IR_RANDOMSTATE_H
