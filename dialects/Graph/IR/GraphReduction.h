//===- GraphReduction.h - What a reduction starts from ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHREDUCTION_H
#define DIALECTS_GRAPH_IR_GRAPHREDUCTION_H

#include "dialects/Graph/IR/Graph.h"

namespace mlir::dist::graph {

/// The value that a reduction starts from, in the compute type: what changes no
/// result.
TypedAttr getIdentity(Reduction kind, Type elementType);

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IR_GRAPHREDUCTION_H
