//===- KnownValues.h - Values that a program has before it runs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_KNOWNVALUES_H
#define PASSES_ANALYSIS_KNOWNVALUES_H

#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// Whether the op's values are known while compiling: constants, and their
/// copies over dims where kernels make them for themselves. They are no memory
/// of a step and take none of its time.
bool isKnown(Operation *op);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_KNOWNVALUES_H
