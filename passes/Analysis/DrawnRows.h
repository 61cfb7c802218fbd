//===- DrawnRows.h - Random numbers of examples -----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is drawn at random depends on no example, and its size alone does not
// tell whether it has a row for each: with what it is combined does.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_DRAWNROWS_H
#define PASSES_ANALYSIS_DRAWNROWS_H

#include "dialects/Interfaces/ShardingRule.h"
#include "passes/Analysis/BatchRows.h"
#include <functional>

namespace mlir::dist {

class DrawnRows {
public:
  using FindRows = std::function<ArrayRef<ExampleDim>(Value)>;
  /// `findRows`: the dims of examples that are known, from the inputs on.
  DrawnRows(int64_t batch, FindRows findRows)
      : batch(batch), findRows(std::move(findRows)) {}

  /// The dim of a value in which it has rows for the examples that it meets
  /// behind; none: it meets none, as weights do.
  std::optional<ExampleDim> find(Value value);

private:
  std::optional<ExampleDim> findByUse(OpOperand &use);
  std::optional<ExampleDim> findByRule(OpOperand &use, unsigned result,
                                       ExampleDim row);

  int64_t batch;
  FindRows findRows;
  llvm::DenseMap<Value, std::optional<ExampleDim>> found;
};

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_DRAWNROWS_H
