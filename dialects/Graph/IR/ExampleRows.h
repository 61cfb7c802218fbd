//===- ExampleRows.h - Where values hold a batch's examples -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which dims of a value are of a batch's examples follows, op by op, from the
// dims of its operands that are.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_EXAMPLEROWS_H
#define DIALECTS_GRAPH_IR_EXAMPLEROWS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace mlir::dist {

class ShardingRuleOpInterface;

/// A dim of examples: of (others, examples, `inner`), major to minor.
struct ExampleDim {
  unsigned dim;
  int64_t inner;
  bool operator==(const ExampleDim &other) const {
    return dim == other.dim && inner == other.inner;
  }
};

/// The dim of another shape of the same elements that holds all examples,
/// whatever else it holds; none: there is no such dim.
std::optional<ExampleDim> findReshapedRow(ExampleDim row,
                                          ArrayRef<int64_t> from,
                                          ArrayRef<int64_t> to, int64_t batch);

namespace graph {
class ReshapeOp;
class ConcatOp;
class SliceOp;
} // namespace graph

class RowTracker {
public:
  explicit RowTracker(int64_t batch) : batch(batch) {}

  /// Says that a value holds examples in a dim. Fails where another place in
  /// that dim is known.
  LogicalResult add(Value value, ExampleDim row);
  /// An operand that tells which examples are copies: who reads it leaves them
  /// out of what it combines.
  void setMask(Value value) { mask = value; }
  /// Finds the dims of the op's results. Fails where examples meet (or a lookup
  /// reads among them).
  LogicalResult visit(Operation *op);
  ArrayRef<ExampleDim> find(Value value) const {
    auto it = rows.find(value);
    return it == rows.end() ? ArrayRef<ExampleDim>() : it->second;
  }

private:
  LogicalResult visitReshape(graph::ReshapeOp op);
  LogicalResult visitConcat(graph::ConcatOp op);
  LogicalResult visitSlice(graph::SliceOp op);
  LogicalResult visitByRule(ShardingRuleOpInterface op);
  const ExampleDim *find(Value value, unsigned dim) const;

  int64_t batch;
  Value mask;
  DenseMap<Value, SmallVector<ExampleDim, 1>> rows;
};

} // namespace mlir::dist

#endif // DIALECTS_GRAPH_IR_EXAMPLEROWS_H
