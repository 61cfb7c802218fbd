//===- CountOwnExamples.cpp - A worker's own means -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Workers/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_COUNTOWNEXAMPLESPASS
#include "passes/Workers/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
struct CountOwnExamplesPass
    : mlir::dist::impl::CountOwnExamplesPassBase<CountOwnExamplesPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

static bool hasRole(DictionaryAttr attributes, StringRef role) {
  auto own =
      attributes ? attributes.getAs<StringAttr>(kRoleAttr) : StringAttr();
  return own && own.getValue() == role;
}

static BlockArgument findArgument(func::FuncOp entry, StringRef role) {
  for (BlockArgument argument : entry.getArguments())
    if (hasRole(entry.getArgAttrDict(argument.getArgNumber()), role))
      return argument;
  return {};
}

/// The number of the loss among the results, or -1.
static int64_t findLoss(func::FuncOp entry) {
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (hasRole(entry.getResultAttrDict(i), "loss"))
      return i;
  return -1;
}

void CountOwnExamplesPass::runOnOperation() {
  func::FuncOp entry = getOperation();
  if (entry.isExternal())
    return;
  if (!entry.getBody().hasOneBlock()) {
    entry.emitOpError()
        << "dist-count-own-examples: expected one block, but got "
        << entry.getBody().getBlocks().size();
    return signalPassFailure();
  }
  BlockArgument count = findArgument(entry, "count");
  BlockArgument mask = findArgument(entry, "mask");
  if (count && !mask) {
    entry.emitOpError()
        << "has a count of examples, but no mask that tells which they are";
    return signalPassFailure();
  }
  Value own;
  if (count) {
    auto builder = OpBuilder::atBlockBegin(&entry.front());
    GraphBuilder g(builder, entry.getLoc());
    own = g.sum(g.convert(mask, getElementTypeOrSelf(count.getType())), {0});
    // A worker may have none of a short batch: its sums are 0 then, not 0 / 0.
    // What counts examples (metrics) adds them as they are.
    Value divisor = g.max(own, g.like(own, 1));
    count.replaceUsesWithIf(
        own, [](OpOperand &use) { return isa<AddOp>(use.getOwner()); });
    count.replaceAllUsesWith(divisor);
  }
  int64_t result = findLoss(entry);
  if (result < 0)
    return;
  Operation *end = entry.front().getTerminator();
  OpBuilder builder(end);
  GraphBuilder g(builder, end->getLoc());
  Value loss = end->getOperand(result);
  Type type = getElementTypeOrSelf(loss.getType());
  Value part = count ? g.mul(loss, g.convert(g.div(own, count), type))
                     : g.mul(loss, 1.0 / double(workers));
  end->setOperand(result, part);
}
