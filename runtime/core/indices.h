//===- indices.h - Integers that count classes or rows ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled kernels clamp indices, for they must not read elsewhere. A label
// that is no class, and an index beyond its table, are errors before that.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_INDICES_H
#define RUNTIME_CORE_INDICES_H

#include "runtime/core/status.h"
#include "runtime/core/types.h"
#include <optional>
#include <vector>

namespace dist {

/// The integers from `low` to below `end`, and one more.
struct IntegerRange {
  int64_t low = 0, end = 0;
  std::optional<int64_t> other = std::nullopt;
  bool empty() const { return low == end; }
};

/// What an argument's integers may be: element i, in row-major order, of range
/// i % size. Several are those of coordinates, of which each row of the last
/// dim holds all. Never without one; empty ones are not checked.
using IntegerRanges = std::vector<IntegerRange>;
IntegerRanges indexRanges(const manifest::Binding &binding);
/// "expected integers from 0 to 9", "…, or -100".
std::string describe(IntegerRange range);

/// An element that is out of range.
struct Stray {
  int64_t position = -1; // -1: there is none
  std::string value;
  IntegerRange range; // in which it is not
};
/// The first of a tensor; none where it holds other things than integers.
Stray findStray(const TensorView &tensor, const IntegerRanges &ranges);

/// An error that names the argument, and where the integer stands. With a mask
/// (a bool a row; null: none) only those rows are checked that are examples.
Status checkIndices(const manifest::Binding &binding, const TensorView &tensor,
                    const bool *mask = nullptr);

} // namespace dist

#endif // RUNTIME_CORE_INDICES_H
