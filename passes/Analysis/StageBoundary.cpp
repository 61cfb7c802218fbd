//===- StageBoundary.cpp - What stages of a pipeline send back -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/StageBoundary.h"
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Interfaces/Cost.h"
#include "dialects/Interfaces/ShardingRule.h"
#include "passes/Analysis/MinimumCut.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A stage, and a later one.
using Pair = std::pair<int64_t, int64_t>;

class Boundaries {
public:
  Boundaries(Block &block, StageAssignment &stages)
      : block(block), stages(stages) {}
  void run();

private:
  int64_t findLater(Operation &op) const;
  void cut(Pair pair, ArrayRef<Operation *> ops);

  Block &block;
  StageAssignment &stages;
  /// Ops that may be of the later stage, too.
  llvm::DenseMap<Operation *, Pair> movable;
};
} // namespace

/// Whether the work is worth a smaller message: not that of a contraction. Nor
/// do sums over microbatches wait for the last one to be sent.
static bool isCheap(Operation &op) {
  Attribute microbatch = op.getAttr(kMicrobatchAttr);
  return !sumsProducts(&op) &&
         llvm::all_of(op.getOperands(), [&](Value operand) {
           Operation *definition = operand.getDefiningOp();
           return microbatch || !definition ||
                  !definition->hasAttr(kMicrobatchAttr);
         });
}

/// The stage behind its own that the op can be moved to: all that it reads is
/// there, and all that reads it are ops of its own or of earlier ones; -1 if
/// none.
int64_t Boundaries::findLater(Operation &op) const {
  int64_t home = stages.home.lookup(&op), later = -1;
  bool agree = true;
  for (Value operand : op.getOperands()) {
    int64_t stage = stages.getHome(operand);
    if (stage < 0)
      continue;
    auto found = movable.find(operand.getDefiningOp());
    if (found != movable.end() && found->second.first == home)
      stage = found->second.second;
    agree &= later < 0 || stage == later;
    later = stage;
  }
  for (Operation *user : op.getUsers())
    agree &= user != block.getTerminator() && stages.home.lookup(user) <= home;
  return agree && later > home ? later : -1;
}

void Boundaries::cut(Pair pair, ArrayRef<Operation *> ops) {
  MinimumCut graph;
  unsigned later = graph.addNode(), own = graph.addNode();
  llvm::DenseMap<Operation *, unsigned> nodes;
  for (Operation *op : ops)
    nodes[op] = graph.addNode();
  // What is read or made here, sent once if anything of the own stage reads it.
  llvm::SetVector<Value> values;
  for (Operation *op : ops) {
    values.insert_range(op->getOperands());
    values.insert_range(op->getResults());
  }
  for (Value value : values) {
    if (stages.getHome(value) < 0)
      continue;
    auto made = nodes.find(value.getDefiningOp());
    unsigned from = made == nodes.end() ? later : made->second;
    unsigned sent = graph.addNode();
    graph.addEdge(from, sent, getByteSize(value.getType()));
    for (Operation *user : value.getUsers()) {
      auto reader = nodes.find(user);
      if (reader != nodes.end()) {
        graph.addEdge(sent, reader->second, MinimumCut::kInfinite);
        // What the own stage makes, the later one does not read.
        graph.addEdge(reader->second, from, MinimumCut::kInfinite);
      } else if (stages.home.lookup_or(user, -1) == pair.first) {
        graph.addEdge(sent, own, MinimumCut::kInfinite);
      }
    }
  }
  if (graph.solve(later, own) >= MinimumCut::kInfinite)
    return;
  for (Operation *op : ops)
    if (graph.isOnSourceSide(nodes[op]))
      stages.home[op] = pair.second;
}

void Boundaries::run() {
  llvm::MapVector<Pair, SmallVector<Operation *>> groups;
  for (Operation &op : block.without_terminator()) {
    int64_t home = stages.home.lookup(&op);
    if (home < 0 || stages.forward.contains(&op) || !isCheap(op))
      continue;
    if (int64_t later = findLater(op); later >= 0) {
      movable[&op] = {home, later};
      groups[{home, later}].push_back(&op);
    }
  }
  for (auto &[pair, ops] : groups)
    cut(pair, ops);
}

void mlir::dist::moveBehindSends(Block &block, StageAssignment &stages) {
  Boundaries(block, stages).run();
}
