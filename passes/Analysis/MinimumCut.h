//===- MinimumCut.h - The cheapest edges between two nodes -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dinitz' maximum flow on a small sparse graph ("Algorithm for solution of a
// problem of maximum flow in networks with power estimation", 1970). Of several
// minimum cuts it gives the one nearest the source.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_MINIMUMCUT_H
#define PASSES_ANALYSIS_MINIMUMCUT_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace mlir::dist {

class MinimumCut {
public:
  static constexpr int64_t kInfinite = int64_t(1) << 60;

  /// Nodes are numbered in the order they are added.
  unsigned addNode();
  void addEdge(unsigned from, unsigned to, int64_t capacity);
  /// Capacity of the cut; kInfinite or more if nothing separates the two.
  int64_t solve(unsigned source, unsigned sink);
  /// After solve: whether `node` is on the source's side.
  bool isOnSourceSide(unsigned node) const { return levels[node] >= 0; }

private:
  struct Edge {
    unsigned to;
    int64_t left;
  };
  bool findLevels(unsigned source, unsigned sink);
  int64_t push(unsigned source, unsigned sink);

  /// Edge i ^ 1 is edge i's reverse.
  std::vector<Edge> edges;
  std::vector<llvm::SmallVector<unsigned, 4>> out;
  std::vector<int> levels;
  std::vector<unsigned> next;
};

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_MINIMUMCUT_H
