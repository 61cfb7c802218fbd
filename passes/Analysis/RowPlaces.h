//===- RowPlaces.h - Values that know places in a batch ---------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a model computes of no example may still differ from example to example:
// a count, a variable with a row for each place. Integers among them read an
// example's own row, where that can be proved of them.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_ROWPLACES_H
#define PASSES_ANALYSIS_ROWPLACES_H

#include "dialects/Interfaces/HostTensor.h"
#include "passes/Analysis/BatchRows.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <optional>
#include <tuple>

namespace mlir::dist {

/// The least and the greatest that each element may be.
struct ElementRange {
  HostTensor low, high;
  /// They are the same: the value depends on constants alone.
  bool isExact = false;
};

class RowPlaces {
public:
  explicit RowPlaces(int64_t batch) : batch(batch) {}

  /// Of integers, and of what depends on constants alone; none: it is not
  /// known, or too large to ask.
  std::optional<ElementRange> findRange(Value value);

  /// Whether a value that depends on no example is the same for each of them,
  /// if `row` is where they stand. What is drawn by the numbers of its rows has
  /// them wherever the examples are laid.
  bool isAlike(Value value, ExampleDim row);

private:
  std::optional<ElementRange> computeRange(Value value);
  std::optional<ElementRange> evaluate(Operation *op, unsigned result);
  bool computeAlike(Value value, ExampleDim row);
  bool isAlikeByRule(Value value, ExampleDim row);

  int64_t batch;
  llvm::DenseMap<Value, std::optional<ElementRange>> ranges;
  std::map<std::tuple<void *, unsigned, int64_t>, bool> alike;
};

/// Whether a tensor's elements are the same for each example.
bool isAlikeIn(const HostTensor &tensor, ExampleDim row, int64_t batch);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_ROWPLACES_H
