//===- IndexUses.cpp - Where integers index a dim -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/IndexUses.h"
#include "dialects/Graph/IR/GraphRows.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

int64_t mlir::dist::getIndexedSize(OpOperand &use) {
  auto isIndices = [&](auto op) { return &use == &op.getIndicesMutable(); };
  return llvm::TypeSwitch<Operation *, int64_t>(use.getOwner())
      .Case<GatherOp, GatherElementsOp, ScatterAddOp, ScatterElementsOp>(
          [&](auto op) -> int64_t {
            return isIndices(op)
                       ? op.getOperand().getType().getDimSize(op.getAxis())
                       : 0;
          })
      .Case<GatherRowsOp, ScatterAddRowsOp>([&](auto op) -> int64_t {
        return isIndices(op) ? op.getNumRows() : 0;
      })
      .Default(int64_t(0));
}
