//===- Cost.h - What an op costs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_COST_H
#define DIALECTS_INTERFACES_COST_H

#include "mlir/IR/OpDefinition.h"

namespace mlir::dist {

struct OpCost {
  /// Floating-point operations (a multiply-add is two).
  double flops = 0;
  /// Bytes read from operands and written to results.
  double bytesRead = 0;
  double bytesWritten = 0;
};

/// One operation an element of the largest result; operands read and results
/// written once.
OpCost getElementwiseCost(Operation *op);

/// Bytes of a value of a statically shaped tensor type.
int64_t getByteSize(Type type);

/// Whether it is a tensor of one element, of whatever rank.
bool hasOneElement(Type type);

} // namespace mlir::dist

#include "dialects/Interfaces/Cost.h.inc"

#endif // DIALECTS_INTERFACES_COST_H
