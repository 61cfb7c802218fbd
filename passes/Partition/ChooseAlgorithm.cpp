//===- ChooseAlgorithm.cpp - How all-reduces go about it -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Microbatch.h"
#include "passes/Partition/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_CHOOSEALGORITHMPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct ChooseAlgorithmPass
    : mlir::dist::impl::ChooseAlgorithmPassBase<ChooseAlgorithmPass> {
  using Base::Base;
  void runOnOperation() override {
    auto chosen = symbolizeAllReduceAlgorithm(algorithm);
    if (!chosen) {
      getOperation().emitError()
          << "expected `algorithm` to be auto, ring or reduce_to_one, but got '"
          << algorithm << "'";
      return signalPassFailure();
    }
    getOperation().walk([&](AllReduceOp op) {
      if (!isOverMicrobatches(op))
        op.setAlgorithm(*chosen);
    });
  }
};
} // namespace
