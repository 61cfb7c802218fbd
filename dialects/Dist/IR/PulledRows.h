//===- PulledRows.h - Rows of a table that a step looks up ------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a table that parameter servers hold, a worker's step needs the rows that
// its batch looks up. They are a variable of their own there
// (`dist.pulled_rows` of the table names it): the rows in some order, and where
// each of the table's rows stands among them.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_PULLEDROWS_H
#define DIALECTS_DIST_IR_PULLEDROWS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace mlir::dist {

inline constexpr llvm::StringLiteral kPulledRowsAttr = "dist.pulled_rows";
/// The group of the variables `rows` and `places`.
inline constexpr llvm::StringLiteral kPulledGroup = "pulled";

/// What goes with each row: its number, in what asks for it and in what brings
/// its gradient.
inline constexpr int64_t kPulledNumberBytes = 2 * sizeof(int64_t);

struct PulledRows {
  /// Variables: as many rows as a batch looks up at most; and a number a row of
  /// the table, which says which of these it is. Of rows that the batch does
  /// not look up it says nothing.
  FlatSymbolRefAttr rows, places;
  /// The inputs of a step whose integers are the numbers of the rows that it
  /// looks up; negative ones count from the table's end.
  SmallVector<StringAttr> inputs;
};

/// None: steps have the whole table.
std::optional<PulledRows> findPulledRows(Operation *table);
void setPulledRows(Operation *table, const PulledRows &pulled);
LogicalResult verifyPulledRows(Operation *op, Attribute attribute);

} // namespace mlir::dist

#endif // DIALECTS_DIST_IR_PULLEDROWS_H
