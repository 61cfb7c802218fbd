//===- RecomputePlan.h - What is computed again, and what is kept ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which ops of the forward pass the backward pass repeats. What does not depend
// on a cotangent can be computed in either; a minimum cut between them chooses
// the values to keep, so that bytes kept (at a price a byte) and time spent
// again are least together. Chen et al., "Training Deep Nets with Sublinear
// Memory Cost" (2016), with the graph cut of PyTorch's partitioner.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_GRAPH_RECOMPUTEPLAN_H
#define PASSES_GRAPH_RECOMPUTEPLAN_H

#include "dialects/Graph/IR/Cotangent.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

/// An entry's ops by the pass that they belong to.
class BackwardPass {
public:
  explicit BackwardPass(func::FuncOp entry);
  /// Whether the entry has a backward pass that is marked.
  bool isThere() const { return first; }
  /// Whether the op can only run in the backward pass.
  bool contains(Operation *op) const { return cotangents.contains(op); }
  /// A value that the op has to wait for; null: `op` is where cotangents begin.
  Value getAnchor(Operation *op) const;
  /// Whether the op is needed by nothing but the backward pass, though it could
  /// run before it.
  bool isOnlyFor(Operation *op) const {
    return !contains(op) && !forward.contains(op);
  }
  Operation *getFirst() const { return first; }

private:
  llvm::DenseSet<Operation *> cotangents, forward;
  Operation *first = nullptr;
};

using OpSet = llvm::DenseSet<Operation *>;

/// Ops that kernels repeat wherever they are read: broadcasts, views, iotas.
bool isRepeatedAnyway(Operation *op);
/// Whether running the op again gives the same value and moves nothing.
bool canRecompute(Operation *op);

struct RecomputeChoice {
  /// Seconds that a kept byte is worth.
  double secondsPerByte = 0;
  /// Contractions and convolutions too.
  bool contractions = false;
  /// The forward pass in that many parts of equal time; what passes from one to
  /// the next is kept.
  int64_t segments = 1;
  /// Longest chain of ops that are computed again.
  int64_t maxChain = 64;
};

/// The ops to compute again, the views on them included.
OpSet chooseRecomputed(func::FuncOp entry, const BackwardPass &backward,
                       const RecomputeChoice &choice);

} // namespace mlir::dist

#endif // PASSES_GRAPH_RECOMPUTEPLAN_H
