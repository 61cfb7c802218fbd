//===- NumberDropouts.cpp - Each dropout's stream of random numbers -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In prediction a dropout is its operand, and two of one tensor are the same.
// In training they are not: the number keeps them two ops until then.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/RandomState.h"
#include "passes/Graph/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_NUMBERDROPOUTSPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
struct NumberDropoutsPass
    : dist::impl::NumberDropoutsPassBase<NumberDropoutsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<DropoutOp> unnumbered;
    int64_t next = 0;
    getOperation().walk([&](DropoutOp op) {
      if (auto stream = op->getAttrOfType<IntegerAttr>(kStreamAttr))
        next = std::max(next, stream.getInt() + 1);
      else if (op.getRate().convertToDouble() > 0)
        unnumbered.push_back(op);
    });
    Builder builder(&getContext());
    for (DropoutOp op : unnumbered)
      op->setAttr(kStreamAttr, builder.getI64IntegerAttr(next++));
  }
};
} // namespace
