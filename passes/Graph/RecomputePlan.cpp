//===- RecomputePlan.cpp - What is computed again, and what is kept -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Graph/RecomputePlan.h"
#include "dialects/Dist/IR/Dist.h"
#include "dialects/Graph/IR/GraphOrder.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Analysis/Explain.h"
#include "passes/Analysis/MinimumCut.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

//===----------------------------------------------------------------------===//
// The backward pass
//===----------------------------------------------------------------------===//

BackwardPass::BackwardPass(func::FuncOp entry) {
  for (Operation &op : entry.front().without_terminator()) {
    bool depends = llvm::any_of(op.getOperands(), [&](Value operand) {
      return cotangents.contains(operand.getDefiningOp());
    });
    if (!depends && !op.hasAttr(kCotangent))
      continue;
    if (!first)
      first = &op;
    cotangents.insert(&op);
  }
  if (!first)
    return;
  // What the outputs, the loss and metrics are made of, and what another stage
  // of a pipeline takes.
  SmallVector<Value> work;
  for (Operation &op : entry.front())
    if (op.getNumResults() == 0)
      for (Value given : op.getOperands())
        if (!cotangents.contains(given.getDefiningOp()))
          work.push_back(given);
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (op && forward.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
}

Value BackwardPass::getAnchor(Operation *op) const {
  for (Value operand : op->getOperands())
    if (cotangents.contains(operand.getDefiningOp()))
      return operand;
  return {};
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

bool mlir::dist::isRepeatedAnyway(Operation *op) { return isFreeToRepeat(op); }

bool mlir::dist::canRecompute(Operation *op) {
  // Collectives would move their bytes again.
  return isa<ReferenceOpInterface>(op) && isPure(op) &&
         op->getNumOperands() > 0 && !isa<CollectiveOpInterface, AfterOp>(op);
}

/// Whether it is worth while to run the op again: what is not takes as long as
/// what it frees is large.
static bool isCheap(Operation *op) {
  return !sumsProducts(op) &&
         (isElemental(op) || isa<DecomposableOpInterface>(op));
}

//===----------------------------------------------------------------------===//
// The cut
//===----------------------------------------------------------------------===//

namespace {
class Chooser {
public:
  Chooser(func::FuncOp entry, const BackwardPass &backward,
          const RecomputeChoice &choice)
      : entry(entry), backward(backward), choice(choice) {
    for (Operation &op : entry.front().without_terminator())
      if (!backward.contains(&op))
        ops.push_back(&op);
  }
  OpSet run();

private:
  void keepBetweenSegments();
  OpSet cut();
  bool keepAfterChains(const OpSet &recomputed);

  func::FuncOp entry;
  const BackwardPass &backward;
  const RecomputeChoice &choice;
  SmallVector<Operation *> ops; // that could run in either pass
  OpSet kept;                   // never computed again
};
} // namespace

/// The values between two segments are those that are read in the later one.
void Chooser::keepBetweenSegments() {
  if (choice.segments < 2)
    return;
  MachineModel machine;
  double total = 0, sum = 0;
  for (Operation *op : ops)
    total += predictSeconds(op, machine);
  llvm::DenseMap<Operation *, int64_t> segmentOf;
  for (Operation *op : ops) {
    segmentOf[op] =
        std::min(int64_t(sum / total * choice.segments), choice.segments - 1);
    sum += predictSeconds(op, machine);
  }
  for (Operation *op : ops)
    for (Operation *user : op->getUsers())
      if (auto found = segmentOf.find(user); found != segmentOf.end() &&
                                             found->second > segmentOf[op] &&
                                             !backward.isOnlyFor(user))
        kept.insert(op);
}

OpSet Chooser::cut() {
  // In picoseconds, so that integers will do.
  constexpr double unit = 1e12;
  MachineModel machine;
  MinimumCut graph;
  unsigned source = graph.addNode(), sink = graph.addNode();
  struct Nodes {
    unsigned run;                     // sink side: computed again
    SmallVector<unsigned, 2> results; // sink side: read by the backward pass
  };
  llvm::DenseMap<Operation *, Nodes> nodes;
  for (Operation *op : ops) {
    Nodes &own = nodes[op];
    own.run = graph.addNode();
    bool repeated = isRepeatedAnyway(op);
    bool may = (canRecompute(op) || repeated) && !kept.contains(op) &&
               (choice.contractions || repeated || isCheap(op)) &&
               !llvm::all_of(op->getResultTypes(), hasOneElement);
    // What only the backward pass wants runs once in any case.
    double seconds =
        repeated || backward.isOnlyFor(op) ? 0 : predictSeconds(op, machine);
    int64_t price = may ? int64_t(seconds * unit) : MinimumCut::kInfinite;
    if (price)
      graph.addEdge(source, own.run, price);
    for (Value result : op->getResults()) {
      own.results.push_back(graph.addNode());
      double worth =
          getByteSize(result.getType()) * choice.secondsPerByte * unit;
      graph.addEdge(own.run, own.results.back(),
                    may && repeated ? MinimumCut::kInfinite
                                    : std::max<int64_t>(1, worth));
    }
    for (Value operand : op->getOperands())
      if (auto found = nodes.find(operand.getDefiningOp());
          operand.getDefiningOp() && found != nodes.end())
        graph.addEdge(
            found->second.results[cast<OpResult>(operand).getResultNumber()],
            own.run, MinimumCut::kInfinite);
  }
  for (Operation &user : entry.front().without_terminator()) {
    if (!backward.contains(&user) || !backward.getAnchor(&user))
      continue;
    for (Value operand : user.getOperands())
      if (Operation *op = operand.getDefiningOp())
        if (auto found = nodes.find(op); found != nodes.end())
          graph.addEdge(
              found->second.results[cast<OpResult>(operand).getResultNumber()],
              sink, MinimumCut::kInfinite);
  }
  OpSet recomputed;
  if (graph.solve(source, sink) >= MinimumCut::kInfinite)
    return recomputed;
  for (Operation *op : ops)
    if (!graph.isOnSourceSide(nodes[op].run))
      recomputed.insert(op);
  return recomputed;
}

/// Long chains would bring back much of the forward pass at their first use.
bool Chooser::keepAfterChains(const OpSet &recomputed) {
  llvm::DenseMap<Operation *, int64_t> length;
  bool changed = false;
  for (Operation *op : ops) {
    if (!recomputed.contains(op))
      continue;
    int64_t longest = 0;
    for (Value operand : op->getOperands())
      longest = std::max(longest, length.lookup(operand.getDefiningOp()));
    longest += !isRepeatedAnyway(op);
    if (longest > choice.maxChain) {
      changed |= kept.insert(op).second;
      longest = 0;
    }
    length[op] = longest;
  }
  return changed;
}

OpSet Chooser::run() {
  keepBetweenSegments();
  OpSet recomputed = cut();
  while (keepAfterChains(recomputed))
    recomputed = cut();
  return recomputed;
}

OpSet mlir::dist::chooseRecomputed(func::FuncOp entry,
                                   const BackwardPass &backward,
                                   const RecomputeChoice &choice) {
  return Chooser(entry, backward, choice).run();
}
