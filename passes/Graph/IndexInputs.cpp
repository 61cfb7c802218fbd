//===- IndexInputs.cpp - How far inputs may index -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/ShardingRule.h"
#include "passes/Analysis/IndexUses.h"
#include "passes/Graph/Entry.h"
#include "passes/Graph/Passes.h"
#include <numeric>

namespace mlir::dist {
#define GEN_PASS_DEF_INDEXINPUTSPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
struct IndexInputsPass : dist::impl::IndexInputsPassBase<IndexInputsPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

/// Whether all integers of type `from` that index `count` elements are the same
/// in type `to`. Negative ones count from the end, unless they become large.
static bool keepsIndices(Type from, Type to, int64_t count) {
  if (!from.isInteger() || !to.isInteger() || from.isInteger(1) ||
      to.isInteger(1))
    return false;
  unsigned bits = to.getIntOrFloatBitWidth() - !to.isUnsignedInteger();
  bool same = from.isUnsignedInteger() == to.isUnsignedInteger();
  bool wider = to.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth();
  return (same || (from.isUnsignedInteger() && wider)) &&
         (bits >= 63 || count <= int64_t(1) << bits);
}

namespace {
/// How many elements a value's integers choose from: element i of the value, in
/// row-major order, from `counts[i % counts.size()]`. Empty: they index
/// nothing. Several are those of coordinates.
using IndexCounts = SmallVector<int64_t, 2>;
} // namespace

/// What holds of integers that both say something about; 0 says nothing.
static void restrict(IndexCounts &counts, ArrayRef<int64_t> more) {
  if (more.empty())
    return;
  if (counts.empty())
    return counts.assign(more.begin(), more.end());
  IndexCounts both(std::lcm(counts.size(), more.size()));
  for (auto [i, count] : llvm::enumerate(both)) {
    int64_t a = counts[i % counts.size()], b = more[i % more.size()];
    count = a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
  }
  counts = both;
}

/// Of elements that may be in another order: what holds of each of them.
static IndexCounts loosen(IndexCounts counts) {
  if (llvm::all_equal(counts))
    counts.truncate(std::min<size_t>(counts.size(), 1));
  if (counts.size() > 1) {
    bool all = !llvm::is_contained(counts, 0);
    counts = {all ? *llvm::max_element(counts) : 0};
  }
  return counts;
}

/// Whether the last dim of operand 0 is that of the result: what stands in a
/// column there is in that column of the result.
static bool keepsColumns(Operation *op) {
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  const TensorFactors &from = rule.operands.front(), &to = rule.results.front();
  return !from.empty() && !to.empty() && !from.back().empty() &&
         from.back() == to.back();
}

static IndexCounts findIndexCounts(Value value);

/// Of the operand of an op whose result has all of its integers: what the
/// result's index.
static IndexCounts findPassedCounts(Operation *op) {
  auto passed = [&] { return findIndexCounts(op->getResult(0)); };
  if (isa<ConvertOp>(op))
    return passed();
  // What is computed says nothing, nor what is chosen of them: the others may
  // be any number.
  switch (findMovement(op).value_or(Movement::Select)) {
  case Movement::View:
  case Movement::Order:
    return passed();
  case Movement::Repeat:
  case Movement::Permute:
    return keepsColumns(op) ? passed() : loosen(passed());
  case Movement::Generate:
  case Movement::Load:
  case Movement::Slice:
  case Movement::Select:
    return {};
  }
  llvm_unreachable("a movement");
}

/// Of what is joined along the last dim: the coordinates that it holds.
static IndexCounts findJoinedCounts(ConcatOp op, OpOperand &use) {
  IndexCounts all = findIndexCounts(op.getResult());
  int64_t rank = op.getType().getRank(), width = op.getType().getShape().back();
  if (all.size() <= 1 || int64_t(op.getAxis()) != rank - 1 ||
      width % int64_t(all.size()))
    return loosen(all);
  int64_t first = 0;
  for (Value input : op.getInputs().take_front(use.getOperandNumber()))
    first += cast<RankedTensorType>(input.getType()).getShape().back();
  IndexCounts own;
  auto type = cast<RankedTensorType>(use.get().getType());
  for (int64_t i = 0; i < type.getShape().back(); ++i)
    own.push_back(all[(first + i) % all.size()]);
  return own;
}

/// What the integers of `value` index, where they reach it as they are.
static IndexCounts findIndexCounts(Value value) {
  IndexCounts counts;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (std::optional<IndexUse> index = findIndexUse(use)) {
      if (index->kind == IndexKind::Row)
        restrict(counts, index->counts);
      continue;
    }
    IndexCounts found;
    if (auto concat = dyn_cast<ConcatOp>(user))
      found = findJoinedCounts(concat, use);
    else if (use.getOperandNumber() == 0)
      found = findPassedCounts(user);
    for (int64_t &count : found)
      if (!keepsIndices(getElementTypeOrSelf(value),
                        getElementTypeOrSelf(user->getResult(0)), count))
        count = 0;
    restrict(counts, found);
  }
  if (llvm::all_equal(counts))
    counts.truncate(std::min<size_t>(counts.size(), 1));
  if (llvm::all_of(counts, [](int64_t count) { return count == 0; }))
    counts.clear();
  return counts;
}

void IndexInputsPass::runOnOperation() {
  Builder builder(&getContext());
  for (auto entry : getOperation().getOps<func::FuncOp>())
    for (BlockArgument argument : entry.getArguments()) {
      if (getArgumentRole(entry, argument.getArgNumber()) != "input")
        continue;
      IndexCounts counts = findIndexCounts(argument);
      // Data are checked example by example: coordinates have to stand alike in
      // each.
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (counts.size() > 1 &&
          (type.getRank() == 0 || type.getShape().back() % counts.size()))
        counts = loosen(counts);
      if (!counts.empty() && counts != IndexCounts{0})
        entry.setArgAttr(argument.getArgNumber(), kIndexCountAttr,
                         builder.getDenseI64ArrayAttr(counts));
    }
}
