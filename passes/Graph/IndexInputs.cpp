//===- IndexInputs.cpp - How far inputs may index -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/IndexUses.h"
#include "passes/Graph/Entry.h"
#include "passes/Graph/Passes.h"

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

/// The smallest dim that all of `value` indexes; 0 if it indexes none.
static int64_t findIndexCount(Value value) {
  int64_t least = 0;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    int64_t count = getIndexedSize(use);
    if (isa<ConvertOp, ReshapeOp, TransposeOp, BroadcastOp>(user)) {
      count = findIndexCount(user->getResult(0));
      if (!keepsIndices(getElementTypeOrSelf(value),
                        getElementTypeOrSelf(user->getResult(0)), count))
        count = 0;
    }
    if (count > 0 && (least == 0 || count < least))
      least = count;
  }
  return least;
}

void IndexInputsPass::runOnOperation() {
  Builder builder(&getContext());
  for (auto entry : getOperation().getOps<func::FuncOp>())
    for (BlockArgument argument : entry.getArguments())
      if (getArgumentRole(entry, argument.getArgNumber()) == "input")
        if (int64_t count = findIndexCount(argument))
          entry.setArgAttr(argument.getArgNumber(), kIndexCount,
                           builder.getI64IntegerAttr(count));
}
