//===- ReductionCode.h - Neutral elements and combinations -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_KERNELS_REDUCTIONCODE_H
#define PASSES_LOWERING_KERNELS_REDUCTIONCODE_H

#include "dialects/Graph/IR/Graph.h"

namespace mlir::dist {

/// The neutral element of a reduction of such elements, in the type in which
/// they are computed.
Value makeNeutral(OpBuilder &b, Location loc, Reduction kind, Type element);

/// One step of the reduction. The order of float sums is left to the compiler.
Value combine(OpBuilder &b, Location loc, Reduction kind, Type element,
              Value lhs, Value rhs);

} // namespace mlir::dist

#endif // PASSES_LOWERING_KERNELS_REDUCTIONCODE_H
