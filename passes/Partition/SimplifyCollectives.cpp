//===- SimplifyCollectives.cpp - Less communication, the same values ------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Partition/SimplifyCollectives.h"
#include "dialects/Dist/IR/Sources.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Partition/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_SIMPLIFYCOLLECTIVESPASS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::isUniform(Value value, ArrayRef<StringAttr> axes) {
  if (ShardingAttr sharding = findSharding(value))
    return llvm::none_of(axes, [&](StringAttr axis) {
      return sharding.splitsOver(axis) || sharding.isUnreducedOver(axis);
    });
  Operation *definition = value.getDefiningOp();
  return definition && matchPattern(definition, m_Constant());
}

namespace {
struct SimplifyCollectivesPass
    : mlir::dist::impl::SimplifyCollectivesPassBase<SimplifyCollectivesPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

/// What two equal collectives have in common; not why they are there.
static DictionaryAttr getMeaning(Operation *op) {
  SmallVector<NamedAttribute> meaning;
  for (NamedAttribute attribute : op->getAttrDictionary())
    if (!llvm::is_contained({"reason", "origin", "op_id"},
                            attribute.getName().getValue()) &&
        attribute.getName() != DistDialect::kOrigin &&
        attribute.getName() != kCausesAttr &&
        attribute.getName() != DistDialect::kShardings)
      meaning.push_back(attribute);
  return DictionaryAttr::get(op->getContext(), meaning);
}

/// A variable in shards is gathered before each use by intent (ZeRO's third
/// stage): between two of them no rank keeps it whole.
static bool gathersVariable(Operation *op) {
  auto argument = dyn_cast<BlockArgument>(op->getOperand(0));
  if (!argument || !isa<AllGatherOp>(op))
    return false;
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function.getArgAttr(argument.getArgNumber(), kVariableAttr) != nullptr;
}

/// The later of two equal collectives takes the earlier one's results.
static void mergeEqual(Block &block) {
  DenseMap<std::pair<Value, Attribute>, SmallVector<Operation *>> seen;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<CollectiveOpInterface>(op) || !isPure(&op) ||
        op.getNumOperands() == 0 || gathersVariable(&op))
      continue;
    auto &equal = seen[{op.getOperand(0), getMeaning(&op)}];
    auto *found = llvm::find_if(equal, [&](Operation *other) {
      return other->getName() == op.getName() &&
             llvm::equal(other->getOperands(), op.getOperands());
    });
    if (found == equal.end()) {
      equal.push_back(&op);
      continue;
    }
    addExplanation(*found, &op);
    op.replaceAllUsesWith(*found);
    op.erase();
  }
}

void SimplifyCollectivesPass::runOnOperation() {
  func::FuncOp function = getOperation();
  MeshOp mesh = findMesh(function);
  if (!mesh || function.isExternal())
    return;
  RewritePatternSet patterns(&getContext());
  populateCollectivePairPatterns(patterns, mesh, sumFirst);
  populateCollectiveMotionPatterns(patterns, mesh);
  FrozenRewritePatternSet frozen(std::move(patterns));
  // Constants keep the shardings that the check reads: nothing is folded here.
  GreedyRewriteConfig config;
  config.enableFolding(false)
      .enableConstantCSE(false)
      .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  bool changed = true;
  while (changed) {
    changed = false;
    // Equal ones first: a value with one user can move, one with two cannot.
    mergeEqual(function.front());
    if (failed(applyPatternsGreedily(function, frozen, config, &changed)))
      return signalPassFailure();
  }
  int64_t id = 0;
  function.walk([&](CollectiveOpInterface collective) {
    if (!collective.isLocal())
      collective.setCollectiveId(id++);
  });
}
