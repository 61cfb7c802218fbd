//===- ActivationGradients.h - Cheaper derivatives of relu and pools ------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_ACTIVATIONGRADIENTS_H
#define DIALECTS_GRAPH_IR_ACTIVATIONGRADIENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// Rewrites derivatives of relu and max_pool so that they read less memory:
/// masks come from what the forward pass keeps anyway, and are applied where
/// tensors are small. Values stay the same bit by bit; sums over a pool's
/// gradient change only in the order of their terms.
void simplifyActivationGradients(func::FuncOp func);

} // namespace mlir::dist

#endif // DIALECTS_GRAPH_IR_ACTIVATIONGRADIENTS_H
