//===- KnownValues.cpp - Values that a program has before it runs ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/KnownValues.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Elemental.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether the op is a part of generated kernels, which make copies of
/// constants for themselves; the library's kernels read them from memory.
static bool isGenerated(Operation *op) {
  return !isa<ContractionOpInterface>(op) && isElemental(op);
}

bool mlir::dist::isKnown(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>())
    return true;
  std::optional<Movement> movement = findMovement(op);
  if (movement != Movement::Repeat && movement != Movement::View)
    return false;
  Operation *source = op->getOperand(0).getDefiningOp();
  return source && isKnown(source) && llvm::all_of(op->getUsers(), isGenerated);
}
