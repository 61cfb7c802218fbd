//===- Cost.h - What an op costs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_COST_H
#define DIALECTS_INTERFACES_COST_H

#include "mlir/IR/OpDefinition.h"
#include <optional>

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

/// Bytes of a tensor; 0 of what is no tensor (a token). None where it is
/// unknown: a dim without a size, elements of no fixed width. Unknown is not
/// free.
std::optional<int64_t> findByteSize(Type type);

/// The same of a value of an op that takes nothing else (graph's and dist's
/// do not), or behind checkByteSizes. Ends the process where it is unknown.
int64_t getByteSize(Type type);

/// Fails with an error where an argument or result of ops in `function` has no
/// known size: for passes that may meet others' ops and functions.
LogicalResult checkByteSizes(Operation *function);

/// Whether it is a tensor of one element, of whatever rank.
bool hasOneElement(Type type);

} // namespace mlir::dist

#include "dialects/Interfaces/Cost.h.inc"

#endif // DIALECTS_INTERFACES_COST_H
