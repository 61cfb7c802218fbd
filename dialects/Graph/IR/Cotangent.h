//===- Cotangent.h - The mark of derivatives -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_COTANGENT_H
#define DIALECTS_GRAPH_IR_COTANGENT_H

#include "llvm/ADT/StringRef.h"

namespace mlir::dist {

/// Marks what the derivative of an entry hands from op to op.
inline constexpr llvm::StringLiteral kCotangent = "graph.cotangent";

} // namespace mlir::dist

#endif // DIALECTS_GRAPH_IR_COTANGENT_H
