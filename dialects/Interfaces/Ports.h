//===- Ports.h - Attributes of entries' arguments and results ---*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an argument or result of an entry is for. Here, since both the graph and
// the dist dialect, which do not know each other, speak of them.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_PORTS_H
#define DIALECTS_INTERFACES_PORTS_H

#include "llvm/ADT/StringRef.h"

namespace mlir::dist {

/// One of the names that Port roles have in the graph dialect's description.
inline constexpr llvm::StringLiteral kRoleAttr = "graph.role";
/// The model's name of an input or output.
inline constexpr llvm::StringLiteral kNameAttr = "graph.name";
/// The symbol of the variable that it stands for.
inline constexpr llvm::StringLiteral kVariableAttr = "graph.variable";
/// The dim whose elements are examples; none: -1.
inline constexpr llvm::StringLiteral kBatchDimAttr = "graph.batch_dim";
/// Of labels: how many classes there are.
inline constexpr llvm::StringLiteral kClassCountAttr = "graph.class_count";
/// Of labels: the number of those that do not count; none if it is absent.
inline constexpr llvm::StringLiteral kIgnoredLabelAttr = "graph.ignored_label";
/// Of an input whose integers index a table: how many rows that has; of
/// coordinates, in turn, the sizes of the dims they are of (0: any).
inline constexpr llvm::StringLiteral kIndexCountAttr = "graph.index_count";

} // namespace mlir::dist

#endif // DIALECTS_INTERFACES_PORTS_H
