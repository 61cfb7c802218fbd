//===- ChooseAlgorithm.cpp - How all-reduces go about it -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chosen here it is a part of the package: all ranks go the same way, whatever
// each of them would find best, and --explain tells of what will run.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Microbatch.h"
#include "passes/Analysis/TransferTimes.h"
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
  void runOnOperation() override;

private:
  /// The same of what is done at once and of what is started.
  template <typename Op> void choose(Op op, MeshOp mesh) {
    op.setAlgorithm(*asked == AllReduceAlgorithm::Auto ? times.choose(op, mesh)
                                                       : *asked);
  }

  std::optional<AllReduceAlgorithm> asked;
  TransferTimes times;
};
} // namespace

static std::string listAlgorithms() {
  std::string list;
  for (unsigned i = 0; i <= getMaxEnumValForAllReduceAlgorithm(); ++i)
    list +=
        (i ? ", " : "") +
        stringifyAllReduceAlgorithm(static_cast<AllReduceAlgorithm>(i)).str();
  return list;
}

void ChooseAlgorithmPass::runOnOperation() {
  func::FuncOp function = getOperation();
  asked = symbolizeAllReduceAlgorithm(algorithm);
  if (!asked) {
    function.emitError() << "expected `algorithm` to be one of "
                         << listAlgorithms() << ", but got '" << algorithm
                         << "'";
    return signalPassFailure();
  }
  if (::dist::Status status =
          TransferTimes::read(collectivesTable, linkTable, hosts, times);
      !status.ok()) {
    function.emitError(status.message());
    return signalPassFailure();
  }
  MeshOp mesh = findMesh(function);
  WalkResult walked = function.walk([&](CollectiveOpInterface op) {
    if (isOverMicrobatches(op))
      return WalkResult::advance();
    if (auto reduce = dyn_cast<AllReduceOp>(*op))
      choose(reduce, mesh);
    else if (auto start = dyn_cast<AllReduceStartOp>(*op))
      choose(start, mesh);
    return failed(times.verify(op, mesh)) ? WalkResult::interrupt()
                                          : WalkResult::advance();
  });
  if (walked.wasInterrupted())
    signalPassFailure();
}
