//===- Reduction.h - How elements combine -----------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_REDUCTION_H
#define DIALECTS_INTERFACES_REDUCTION_H

#include "mlir/IR/BuiltinAttributes.h"

#include "dialects/Interfaces/Reduction.h.inc"

namespace mlir::dist {

/// Of two numbers; a NaN stays, whichever of them it is.
double combine(Reduction reduction, double x, double y);
/// Sums and products wrap.
int64_t combine(Reduction reduction, int64_t x, int64_t y, bool isUnsigned);

} // namespace mlir::dist

#endif // DIALECTS_INTERFACES_REDUCTION_H
