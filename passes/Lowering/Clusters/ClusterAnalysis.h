//===- ClusterAnalysis.h - Which ops make one kernel -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel iterates over a *domain*, a shape whose first `rowDims` dims are the
// rows. Its ops are of four kinds:
//   - full: one element at each point of the domain; some are made a row at a
//     time (RowCodeOpInterface), from what the kernel does not compute itself;
//   - inner reductions: over all dims behind the rows, so that one value a row
//     comes out, which later phases of the same row may use;
//   - row: one element a row, computed from inner reductions;
//   - outer reductions: over the rows (and possibly inner dims). They are
//     results only: their values are known when all rows are done.
// Broadcasts, reshapes, slices and constants *float*: each kernel that reads
// one computes it where it is read.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_CLUSTERS_CLUSTERANALYSIS_H
#define PASSES_LOWERING_CLUSTERS_CLUSTERANALYSIS_H

#include "dialects/Graph/IR/Graph.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace mlir::dist {

/// More members or buffers than this make kernels that spill and compile
/// slowly.
constexpr size_t kMaxKernelOps = 96;
constexpr size_t kMaxKernelBuffers = 48;

enum class MemberKind { Full, InnerReduction, Row, OuterReduction };

struct ClusterInfo {
  SmallVector<int64_t> domain;
  /// Number of row dims that inner reductions and ops that make a row at a time
  /// ask for; -1: free.
  int64_t fixedRowDims = -1;
  /// The most that outer reductions allow.
  int64_t maxRowDims = 0;
  llvm::DenseMap<Operation *, MemberKind> kinds;
};

/// Whether the op is repeated in each kernel that reads it.
bool isFloating(Operation *op);

/// The shape without its dims of size 1.
SmallVector<int64_t> dropUnitDims(ArrayRef<int64_t> shape);

/// The ops (in program order, floating ones left out) as one kernel; nothing
/// if they cannot be one.
std::optional<ClusterInfo> analyzeCluster(ArrayRef<Operation *> ops);

/// The same for the body of a kernel, where floating ops may be in between.
std::optional<ClusterInfo> analyzeBody(Block &body);

/// Elements times instructions of each: below this a fork and join costs more
/// than it saves.
constexpr int64_t kLeastParallelWork = 64 * 1024;

/// How many leading dims are rows, and how many ranges of rows run at once.
std::pair<int64_t, int64_t> chooseRows(const ClusterInfo &info,
                                       int64_t threads);

} // namespace mlir::dist

#endif // PASSES_LOWERING_CLUSTERS_CLUSTERANALYSIS_H
