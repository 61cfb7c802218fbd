//===- IndexUses.cpp - Where integers number something -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/IndexUses.h"

using namespace mlir;
using namespace mlir::dist;

std::optional<IndexUse> mlir::dist::findIndexUse(OpOperand &use) {
  auto op = dyn_cast<IndexingOpInterface>(use.getOwner());
  std::optional<IndexUse> found = op ? op.getIndexUse() : std::nullopt;
  if (found && found->operand == use.getOperandNumber())
    return found;
  return std::nullopt;
}
