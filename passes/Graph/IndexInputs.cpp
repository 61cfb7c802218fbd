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

/// Whether the op's result has all its operand's integers, as they are.
static bool keepsIntegers(Operation *op) {
  if (auto convert = dyn_cast<ConvertOp>(op)) {
    Type from = getElementTypeOrSelf(convert.getOperand());
    Type to = getElementTypeOrSelf(convert.getResult());
    return from.isInteger() && to.isInteger() && !to.isInteger(1) &&
           to.isUnsignedInteger() == from.isUnsignedInteger() &&
           to.getIntOrFloatBitWidth() >= from.getIntOrFloatBitWidth();
  }
  return isa<ReshapeOp, TransposeOp, BroadcastOp>(op);
}

/// The smallest dim that all of `value` indexes; 0 if it indexes none.
static int64_t findIndexCount(Value value) {
  int64_t least = 0;
  for (OpOperand &use : value.getUses()) {
    int64_t count = keepsIntegers(use.getOwner())
                        ? findIndexCount(use.getOwner()->getResult(0))
                        : getIndexedSize(use);
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
