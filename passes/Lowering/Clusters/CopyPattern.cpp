//===- CopyPattern.cpp - How an op differs from copy to copy --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Clusters/CopyPattern.h"
#include "dialects/Dist/IR/Dist.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Numbers that go on as they begin
//===----------------------------------------------------------------------===//

static int64_t goOn(int64_t before, int64_t pattern, int64_t microbatch) {
  return pattern + (pattern - before) * (microbatch - kPatternMicrobatch);
}

static Attribute goOn(Attribute before, Attribute pattern, int64_t microbatch) {
  if (before == pattern)
    return pattern;
  if (auto a = dyn_cast<IntegerAttr>(before)) {
    auto b = dyn_cast<IntegerAttr>(pattern);
    if (!b || a.getType() != b.getType() || !a.getType().isSignlessInteger(64))
      return {};
    return IntegerAttr::get(a.getType(),
                            goOn(a.getInt(), b.getInt(), microbatch));
  }
  if (auto a = dyn_cast<DenseI64ArrayAttr>(before)) {
    auto b = dyn_cast<DenseI64ArrayAttr>(pattern);
    if (!b || a.size() != b.size())
      return {};
    SmallVector<int64_t> numbers;
    for (auto [x, y] : llvm::zip_equal(a.asArrayRef(), b.asArrayRef()))
      numbers.push_back(goOn(x, y, microbatch));
    return DenseI64ArrayAttr::get(before.getContext(), numbers);
  }
  return {};
}

Attribute CopyChange::getFor(int64_t microbatch) const {
  return goOn(before, pattern, microbatch);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static SmallVector<Operation *> listOps(Operation *op) {
  SmallVector<Operation *> ops;
  op->walk<WalkOrder::PreOrder>(
      [&](Operation *inner) { ops.push_back(inner); });
  return ops;
}

/// Fails where attributes differ in more than numbers.
static LogicalResult compareAttributes(Operation *a, Operation *b,
                                       unsigned inner,
                                       SmallVectorImpl<CopyChange> &changes) {
  DictionaryAttr before = a->getAttrDictionary(),
                 pattern = b->getAttrDictionary();
  if (before == pattern)
    return success();
  if (before.size() != pattern.size())
    return failure();
  for (auto [x, y] : llvm::zip_equal(before, pattern)) {
    if (x.getName() != y.getName())
      return failure();
    if (x.getValue() == y.getValue() ||
        (isa<CollectiveOpInterface>(a) && x.getName() == "op_id"))
      continue;
    CopyChange change{inner, x.getName(), x.getValue(), y.getValue()};
    if (!change.getFor(kPatternMicrobatch + 1))
      return failure();
    changes.push_back(change);
  }
  return success();
}

static LogicalResult defineAll(ValueRange before, ValueRange pattern,
                               DenseMap<Value, Value> &equal) {
  if (before.size() != pattern.size())
    return failure();
  for (auto [a, b] : llvm::zip_equal(before, pattern)) {
    if (a.getType() != b.getType())
      return failure();
    equal[a] = b;
  }
  return success();
}

LogicalResult
mlir::dist::compareCopiedOps(Operation *before, Operation *pattern,
                             SmallVectorImpl<CopyChange> &changes) {
  SmallVector<Operation *> ops = listOps(before), like = listOps(pattern);
  if (ops.size() != like.size())
    return failure();
  DenseMap<Value, Value> equal;
  for (auto [index, pair] : llvm::enumerate(llvm::zip(ops, like))) {
    auto [a, b] = pair;
    if (a->getName() != b->getName() ||
        a->getNumOperands() != b->getNumOperands() ||
        a->getNumRegions() != b->getNumRegions() ||
        failed(defineAll(a->getResults(), b->getResults(), equal)) ||
        failed(compareAttributes(a, b, index, changes)))
      return failure();
    if (index > 0)
      for (auto [x, y] : llvm::zip_equal(a->getOperands(), b->getOperands()))
        if (x != y && equal.lookup(x) != y)
          return failure();
    for (auto [x, y] : llvm::zip_equal(a->getRegions(), b->getRegions())) {
      if (x.getBlocks().size() != y.getBlocks().size())
        return failure();
      for (auto [blockX, blockY] : llvm::zip_equal(x, y))
        if (failed(
                defineAll(blockX.getArguments(), blockY.getArguments(), equal)))
          return failure();
    }
  }
  return success();
}

bool mlir::dist::hasChanges(Operation *op, Operation *pattern,
                            ArrayRef<CopyChange> changes, int64_t microbatch) {
  SmallVector<Operation *> ops = listOps(op), like = listOps(pattern);
  return ops.size() == like.size() &&
         llvm::all_of(changes, [&](const CopyChange &change) {
           Operation *inner = ops[change.inner];
           return inner->getName() == like[change.inner]->getName() &&
                  inner->getAttr(change.name) == change.getFor(microbatch);
         });
}

void mlir::dist::applyChanges(Operation *copy, ArrayRef<CopyChange> changes,
                              int64_t microbatch) {
  if (changes.empty())
    return;
  SmallVector<Operation *> ops = listOps(copy);
  for (const CopyChange &change : changes)
    ops[change.inner]->setAttr(change.name, change.getFor(microbatch));
}
