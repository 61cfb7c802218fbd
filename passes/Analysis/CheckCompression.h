//===- CheckCompression.h - What compressed gradients come to -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compression changes numbers, but loses none: what has arrived of a gradient
// and what the ranks have left of it add up to the gradient and what was left
// before, whatever the method. And all that is computed from it is what one
// device computes from what has arrived.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_CHECKCOMPRESSION_H
#define PASSES_ANALYSIS_CHECKCOMPRESSION_H

#include "passes/Analysis/Evaluator.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// On an entry whose gradients are compressed: what it comes to.
inline constexpr llvm::StringLiteral kCompressionAttr = "compression";
/// On the op that adds to a rank's gradient (its first operand) what was left
/// of it, and on the one that gives what has arrived: the variable that keeps
/// what is left.
inline constexpr llvm::StringLiteral kCompressedAttr = "keeps_rest";

/// A gradient that was compressed, over all ranks.
struct CompressedSum {
  /// Before; in `function`, a value of one rank.
  Value gradient;
  HostTensor arrived;
  /// What the ranks keep, after the step and before it.
  HostTensor left, leftBefore;
  std::string place;
};

/// Evaluates the program of all ranks, and says what becomes of its gradients.
FailureOr<SmallVector<CompressedSum>>
evaluateCompression(func::FuncOp function, MeshOp mesh,
                    ArrayRef<RankTensors> arguments);

/// Element-wise sum, of as many elements as `type` has: without padding.
HostTensor addUp(const HostTensor &a, const HostTensor &b,
                 RankedTensorType type);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_CHECKCOMPRESSION_H
