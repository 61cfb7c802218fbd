//===- GraphOrder.h - When ops run -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHORDER_H
#define DIALECTS_GRAPH_IR_GRAPHORDER_H

#include "dialects/Graph/IR/Graph.h"

namespace mlir::dist::graph {
/// Marks the copies that graph-recompute has made.
inline constexpr llvm::StringLiteral kRecomputed = "graph.recomputed";
} // namespace mlir::dist::graph

#define GET_OP_CLASSES
#include "dialects/Graph/IR/GraphOrderOps.h.inc"

#endif // DIALECTS_GRAPH_IR_GRAPHORDER_H
