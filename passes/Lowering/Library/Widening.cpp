//===- Widening.cpp - Contractions of narrow floats in f32 ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Library/Widening.h"
#include "dialects/Graph/IR/Graph.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

bool mlir::dist::isNarrow(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isBF16() || element.isF16();
}

void mlir::dist::widenContraction(Operation *op) {
  Value result = op->getResult(0);
  auto type = cast<RankedTensorType>(result.getType());
  OpBuilder b(op);
  Type wide = b.getF32Type();
  for (OpOperand &operand : op->getOpOperands())
    operand.set(ConvertOp::create(
        b, op->getLoc(),
        cast<RankedTensorType>(operand.get().getType()).clone(wide),
        operand.get()));
  result.setType(type.clone(wide));
  b.setInsertionPointAfter(op);
  auto narrow = ConvertOp::create(b, op->getLoc(), type, result);
  result.replaceAllUsesExcept(narrow, narrow);
}
