//===- OverlapCollectives.cpp - Collectives beside computation -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Stage.h"
#include "dialects/Interfaces/Cost.h"
#include "passes/Partition/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVESPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A collective that may be split, and between which ops it may be in flight.
struct Candidate {
  Operation *op;
  Operation *after;  // the start comes behind it; null: first in the block
  Operation *before; // the wait comes before it
  int64_t bytes;     // of results that are not in place
};

struct OverlapCollectivesPass
    : mlir::dist::impl::OverlapCollectivesPassBase<OverlapCollectivesPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  std::optional<Candidate> findRange(Operation *op);
  void limitMemory(MutableArrayRef<Candidate> candidates);
};
} // namespace

/// The op that starts what `op` does; none has no such form.
static std::optional<RegisteredOperationName> findStart(Operation *op) {
  if (!isa<CollectiveOpInterface>(op))
    return std::nullopt;
  return RegisteredOperationName::lookup(
      (op->getName().getStringRef() + "_start").str(), op->getContext());
}

/// Whether time passes while the op runs.
static bool computes(Operation *op) {
  return op->getNumOperands() > 0 && !isa<CollectiveOpInterface, WaitOp>(op);
}

static Operation *getNext(Operation *after, Block &block) {
  return after ? after->getNextNode() : &block.front();
}

/// Whether `a` comes before `b`, where null is before all.
static bool isBefore(Operation *a, Operation *b) {
  return b && (!a || a->isBeforeInBlock(b));
}

std::optional<Candidate> OverlapCollectivesPass::findRange(Operation *op) {
  if (!findStart(op))
    return std::nullopt;
  Block &block = *op->getBlock();
  Candidate range{op, nullptr, block.getTerminator(), 0};
  for (Value operand : op->getOperands())
    if (Operation *definition = operand.getDefiningOp())
      if (isBefore(range.after, definition))
        range.after = definition;
  for (Operation *user : op->getUsers())
    if (user->isBeforeInBlock(range.before))
      range.before = user;
  // A reduction happens where its operands are.
  if (!isa<AllReduceOp>(op))
    for (Type type : op->getResultTypes())
      range.bytes += getByteSize(type);
  return range;
}

/// Moves starts down so far that never more than `max-bytes` are in flight; a
/// single collective may have more.
void OverlapCollectivesPass::limitMemory(
    MutableArrayRef<Candidate> candidates) {
  if (maxBytes == 0)
    return;
  SmallVector<Candidate *> inFlight;
  for (Candidate &candidate : candidates) {
    if (candidate.bytes == 0)
      continue;
    int64_t bytes = candidate.bytes;
    // The last ones in flight fit beside it; the others end before it starts.
    // What ends where it would start is read there, and over behind it.
    for (Candidate *other : llvm::reverse(inFlight)) {
      bytes += other->bytes;
      if (bytes > maxBytes && isBefore(candidate.after, other->before) &&
          other->before->isBeforeInBlock(candidate.op))
        candidate.after = other->before;
    }
    inFlight.push_back(&candidate);
  }
}

/// `behind`: the start that came last to the same place, or null. What is
/// needed first is started first: communication is in order.
static Operation *split(const Candidate &candidate,
                        RegisteredOperationName name, Operation *&behind) {
  Operation *op = candidate.op;
  OpBuilder builder(op->getContext());
  if (behind)
    builder.setInsertionPointAfter(behind);
  else if (candidate.after)
    builder.setInsertionPointAfter(candidate.after);
  else
    builder.setInsertionPointToStart(op->getBlock());
  OperationState state(op->getLoc(), name);
  state.addOperands(op->getOperands());
  state.addTypes(
      TokenType::get(op->getContext(), llvm::to_vector(op->getResultTypes())));
  // What is said of results is said of the wait's.
  NamedAttrList attributes(op->getAttrDictionary()), ofResults;
  for (StringRef of : {DistDialect::kOrigin, DistDialect::kShardings})
    if (Attribute attribute = attributes.erase(of))
      ofResults.set(of, attribute);
  if (Attribute copy = attributes.get(kMicrobatchAttr))
    ofResults.set(kMicrobatchAttr, copy);
  state.addAttributes(attributes);
  Operation *start = builder.create(state);
  behind = start;
  builder.setInsertionPoint(candidate.before);
  auto wait = WaitOp::create(builder, op->getLoc(), op->getResultTypes(),
                             start->getResult(0));
  for (NamedAttribute attribute : ofResults)
    wait->setAttr(attribute.getName(), attribute.getValue());
  op->replaceAllUsesWith(wait);
  op->erase();
  return wait;
}

void OverlapCollectivesPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal())
    return;
  if (!function.getBody().hasOneBlock()) {
    function.emitOpError() << "dist-overlap-collectives: expected one block, "
                              "but got "
                           << function.getBody().getBlocks().size();
    return signalPassFailure();
  }
  Block &block = function.front();
  SmallVector<Candidate> candidates;
  for (Operation &op : block)
    if (auto range = findRange(&op))
      candidates.push_back(*range);
  limitMemory(candidates);
  DenseMap<Operation *, Operation *> waits, lastStart;
  for (Candidate &candidate : candidates) {
    // Of neighbours that were split by now, the waits count.
    std::optional<Candidate> range = findRange(candidate.op);
    Operation *limit = candidate.after;
    if (Operation *wait = waits.lookup(limit))
      limit = wait;
    if (isBefore(range->after, limit))
      range->after = limit;
    // Something must be there to overlap with.
    bool useful = false;
    for (Operation *between = getNext(range->after, block);
         between != range->before; between = between->getNextNode())
      useful |= computes(between);
    if (!useful)
      continue;
    waits[candidate.op] =
        split(*range, *findStart(candidate.op), lastStart[range->after]);
  }
}
