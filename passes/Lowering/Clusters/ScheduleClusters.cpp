//===- ScheduleClusters.cpp - In which order kernels run -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Dist.h"
#include "passes/Lowering/Clusters/ClusterFormer.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include <functional>
#include <queue>

using namespace mlir;
using namespace mlir::dist;

SmallVector<ClusterFormer::Node *> ClusterFormer::schedule() {
  llvm::MapVector<Node *, int64_t> waits;
  llvm::DenseMap<Node *, SmallVector<Node *>> successors;
  for (auto &node : nodes) {
    if (node->ops.empty())
      continue;
    auto predecessors = getPredecessors(node.get());
    waits[node.get()] = predecessors.size();
    for (Node *other : predecessors)
      successors[other].push_back(node.get());
  }
  auto later = [&](Node *l, Node *r) {
    return position[l->ops.back()] > position[r->ops.back()];
  };
  std::priority_queue<Node *, std::vector<Node *>, decltype(later)> ready(
      later);
  for (auto &[node, count] : waits)
    if (count == 0)
      ready.push(node);
  SmallVector<Node *> order;
  while (!ready.empty()) {
    Node *node = ready.top();
    ready.pop();
    order.push_back(node);
    for (Node *next : successors[node])
      if (--waits[next] == 0)
        ready.push(next);
  }
  assert(order.size() == waits.size() && "merging made a cycle");
  delayPreparation(order, successors);
  return order;
}

/// Whether the node reads an argument that is no variable.
bool ClusterFormer::readsData(Node *node) {
  llvm::SmallSetVector<Value, 8> bases;
  for (Operation *op : node->ops)
    for (Value operand : op->getOperands())
      collectBases(operand, bases);
  return llvm::any_of(bases, [&](Value base) {
    auto argument = dyn_cast<BlockArgument>(base);
    return argument && !func.getArgAttr(argument.getArgNumber(), kVariableAttr);
  });
}

/// What depends on variables alone (weights converted, filters transformed)
/// could come first of all, and would take memory until it is read: it comes
/// right before its first reader, or before what that one has to receive.
void ClusterFormer::delayPreparation(
    SmallVector<Node *> &order,
    llvm::DenseMap<Node *, SmallVector<Node *>> &readers) {
  llvm::DenseMap<Node *, size_t> position;
  llvm::SmallPtrSet<Node *, 32> stays;
  SmallVector<size_t> transfers;
  for (auto [index, node] : llvm::enumerate(order)) {
    position[node] = index;
    Operation *first = node->ops.front();
    bool isTransfer = previousTransfer.contains(first);
    if (isTransfer)
      transfers.push_back(index);
    // All ranks come to their collectives in one order.
    if (isTransfer || isa<CollectiveOpInterface>(first) ||
        !llvm::all_of(node->ops, isMemoryEffectFree) || readsData(node))
      stays.insert(node);
    if (stays.contains(node))
      stays.insert(readers[node].begin(), readers[node].end());
  }
  for (size_t index = order.size(); index-- > 0;) {
    Node *node = order[index];
    ArrayRef<Node *> users = readers[node];
    if (stays.contains(node) || users.empty())
      continue;
    size_t first = order.size();
    for (Node *user : users)
      first = std::min(first, position[user]);
    auto transfer = llvm::lower_bound(transfers, first);
    if (transfer != transfers.begin() && *std::prev(transfer) > index)
      first = *std::prev(transfer);
    position[node] = first;
  }
  // Those that move to one position stay ahead of it, and in their order.
  llvm::stable_sort(
      order, [&](Node *l, Node *r) { return position[l] < position[r]; });
}

/// Puts definitions before uses, else as they stand: floating ops (views) come
/// right before their first reader. What ranks exchange keeps its order: a recv
/// has no operands.
bool ClusterFormer::sortBlock(Block &block) {
  SmallVector<Operation *> order;
  for (Operation &op : block.without_terminator())
    order.push_back(&op);
  llvm::SmallPtrSet<Operation *, 32> waiting(order.begin(), order.end());
  llvm::SmallPtrSet<Operation *, 8> entered;
  // Of one that stands right, all that it needs is done: chains of views are
  // what this descends along.
  std::function<bool(Operation *)> add = [&](Operation *op) {
    if (!waiting.contains(op))
      return true;
    if (!entered.insert(op).second)
      return false;
    if (Operation *before = previousTransfer.lookup(op))
      if (!add(before))
        return false;
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp())
        if (!add(def))
          return false;
    op->moveBefore(block.getTerminator());
    waiting.erase(op);
    return true;
  };
  for (Operation *op : order)
    if (!isFloating(op) && !add(op))
      return false;
  return llvm::all_of(order, add);
}
