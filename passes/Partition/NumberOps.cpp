//===- NumberOps.cpp - Numbers by which ops are known; their removal ------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Sources.h"
#include "passes/Partition/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_NUMBEROPSPASS
#define GEN_PASS_DEF_STRIPSHARDINGSPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct NumberOpsPass : mlir::dist::impl::NumberOpsPassBase<NumberOpsPass> {
  using Base::Base;
  void runOnOperation() override {
    // Numbers that are there are kept: strategies annotate numbered ops, and
    // what they copy has the number of what it is a copy of.
    if (getOperation()
            .walk([](Operation *op) {
              return op->hasAttr(DistDialect::kOrigin) ? WalkResult::interrupt()
                                                       : WalkResult::advance();
            })
            .wasInterrupted())
      return;
    int64_t number = 0;
    Builder builder(&getContext());
    getOperation().walk([&](Operation *op) {
      if (op != getOperation() && op->getNumResults() > 0)
        op->setAttr(DistDialect::kOrigin, builder.getI64IntegerAttr(number++));
    });
  }
};

struct StripShardingsPass
    : mlir::dist::impl::StripShardingsPassBase<StripShardingsPass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (op == getOperation())
        return;
      op->removeAttr(DistDialect::kOrigin);
      op->removeAttr(DistDialect::kShardings);
      op->removeAttr(kSourcesAttr);
      op->removeAttr(kCausesAttr);
    });
  }
};
} // namespace
