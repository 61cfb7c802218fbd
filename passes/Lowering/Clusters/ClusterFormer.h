//===- ClusterFormer.h - Which ops are one kernel, and when -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_CLUSTERS_CLUSTERFORMER_H
#define PASSES_LOWERING_CLUSTERS_CLUSTERFORMER_H

#include "passes/Lowering/Clusters/ClusterAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dist {

/// One function's kernels: nodes of ops, of which run() puts one kernel each in
/// their place.
class ClusterFormer {
public:
  ClusterFormer(func::FuncOp func, int64_t threads, bool fuse)
      : func(func), threads(threads), fuse(fuse) {}

  LogicalResult run();

private:
  struct Node {
    SmallVector<Operation *> ops; // in program order
    /// The least rank of its ops, and the largest of these and of all that it
    /// depends on: nodes of a lower reach than this one's least rank do not
    /// depend on it.
    int64_t least = 0, reach = 0;
    /// Whose copies its ops are, where few are shown; -1: no copies.
    int64_t microbatch = -1;
    bool elemental = false;
    std::optional<ClusterInfo> info;
  };

  void collectBases(Value value, llvm::SmallSetVector<Value, 8> &bases);
  void buildNodes();
  void mergeNodes();
  bool tryMerge(Node *a, Node *b);
  bool hasOtherPath(Node *from, Node *to);
  void collectReaders(Operation *op, llvm::SmallSetVector<Node *, 8> &readers);
  void spreadReach(Node *node);
  llvm::SmallSetVector<Node *, 8> getPredecessors(Node *node);
  /// ScheduleClusters.cpp: in which order they run.
  SmallVector<Node *> schedule();
  bool readsData(Node *node);
  void delayPreparation(SmallVector<Node *> &order,
                        llvm::DenseMap<Node *, SmallVector<Node *>> &readers);
  bool sortBlock(Block &block);

  LogicalResult emit(Node *node, OpBuilder &builder);
  Value cloneInto(Value value, OpBuilder &builder, Block *body,
                  SmallVectorImpl<Value> &inputs, IRMapping &mapping);
  bool isUsedOutside(Value value, const llvm::SmallPtrSetImpl<Operation *> &in);

  func::FuncOp func;
  int64_t threads;
  bool fuse;
  std::vector<std::unique_ptr<Node>> nodes;
  llvm::DenseMap<Operation *, Node *> nodeOf;
  llvm::DenseMap<Operation *, int64_t> position;
  /// The most ops one behind the other that an op depends on: unlike places in
  /// the text, close for what could run at about the same time.
  llvm::DenseMap<Operation *, int64_t> rank;
  /// The last of those that nodes are copies of.
  int64_t lastMicrobatch = -1;
  /// How many sends and recvs stand before an op, and their neighbours.
  llvm::DenseMap<Operation *, int64_t> epoch;
  llvm::DenseMap<Operation *, Operation *> previousTransfer, nextTransfer;
};

} // namespace mlir::dist

#endif // PASSES_LOWERING_CLUSTERS_CLUSTERFORMER_H
