//===- OwnAxis.h - Steps without a word to others -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where workers average their variables only now and then, a function runs at
// each position of their axis by itself (`dist.own_axis`): what it does not say
// to be split over the axis is each position's own, not a copy of one value.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_OWNAXIS_H
#define DIALECTS_DIST_IR_OWNAXIS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace mlir::dist {

inline constexpr llvm::StringLiteral kOwnAxisAttr = "dist.own_axis";

/// The axis is one of the mesh, and no transfer of the function is along it.
LogicalResult verifyOwnAxis(Operation *op, Attribute attribute);

} // namespace mlir::dist

#endif // DIALECTS_DIST_IR_OWNAXIS_H
