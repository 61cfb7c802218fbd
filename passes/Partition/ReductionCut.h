//===- ReductionCut.h - Which sums to complete -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The policy of dist-insert-all-reduce: of the values that are sums over one
// axis, which are reduced, so that the fewest bytes are sent in all.
//
// Each value has two nodes; being cut off from the source means yes: it is
// *wanted* whole, and it is computed *from whole* operands. A value that is
// wanted whole but computed from partial ones is reduced: the edge between its
// two nodes, as expensive as it has bytes, is cut. Partial values stay usable
// beside. Of equal cuts the first in program order is taken: what comes after
// works on whole values, and the transfer can start early and in place.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_REDUCTIONCUT_H
#define PASSES_PARTITION_REDUCTIONCUT_H

#include "dialects/Dist/IR/Mesh.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/MinimumCut.h"

namespace mlir::dist {

class ReductionCut {
public:
  /// `unreduced` are the function's sums over the axis.
  ReductionCut(func::FuncOp function, MeshOp mesh, StringAttr axis,
               const DenseSet<Value> &unreduced);

  /// Whether the value was a sum when the cut was made.
  bool contains(Value value) const { return nodes.contains(value); }
  bool isReduced(Value value) const;
  /// Whether the value is computed from partial operands.
  bool staysPartial(Value value) const;

private:
  bool isUnreduced(Value value) const { return unreduced.contains(value); }
  bool sumsOverExamples();
  int64_t getPrice(Value value) const;
  void addUse(OpOperand &use, unsigned sink);

  func::FuncOp function;
  MeshOp mesh;
  StringAttr axis;
  /// Only while the cut is made: the pass changes them afterwards.
  const DenseSet<Value> &unreduced;
  bool ofExamples;
  struct Nodes {
    unsigned fromWhole = 0, wanted = 0;
  };
  MinimumCut cut;
  DenseMap<Value, Nodes> nodes;
};

/// What a rank holds of the value.
int64_t getLocalBytes(Value value, MeshOp mesh);

/// Whether the function gives the result as a sum over the axis.
bool isDeclaredUnreduced(func::FuncOp function, unsigned result,
                         StringAttr axis);

} // namespace mlir::dist

#endif // PASSES_PARTITION_REDUCTIONCUT_H
