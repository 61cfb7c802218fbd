//===- Evaluator.h - Runs functions on the host, rank by rank -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_EVALUATOR_H
#define PASSES_ANALYSIS_EVALUATOR_H

#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Interfaces/Reference.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

/// The results of one op (or of several) on one rank.
using RankTensors = SmallVector<HostTensor>;

/// Tensor `number` of each rank.
SmallVector<HostTensor> collectShards(ArrayRef<RankTensors> ranks,
                                      unsigned number);

/// Called after each op with its results on every rank. A failure stops the
/// evaluation.
using EvaluationObserver = llvm::function_ref<LogicalResult(
    Operation *op, ArrayRef<RankTensors> results)>;

/// Evaluates a function of one block op by op, on all ranks of `mesh` in
/// lockstep (`mesh` null: one rank). `arguments[rank]` are the rank's. On
/// failure an error is emitted on the op.
FailureOr<SmallVector<RankTensors>>
evaluateRanks(func::FuncOp function, MeshOp mesh,
              ArrayRef<RankTensors> arguments,
              EvaluationObserver observer = {});

/// A function that some ranks run, one after another in the mesh.
struct RankProgram {
  func::FuncOp function;
  int64_t firstRank = 0, numRanks = 1;
  /// Of each of its ranks.
  SmallVector<RankTensors> arguments;
};

/// Evaluates programs whose ranks send to each other, or (with portions of the
/// examples) meet in collectives: each as far as it comes, in turns. The
/// results of each program's ranks. Fails, with an error on the first op that
/// waits, if all wait; and if something sent is never received.
FailureOr<SmallVector<SmallVector<RankTensors>>>
evaluatePrograms(ArrayRef<RankProgram> programs, MeshOp mesh,
                 EvaluationObserver observer = {});

/// The same for a function of one device.
FailureOr<RankTensors> evaluateFunction(func::FuncOp function,
                                        ArrayRef<HostTensor> arguments,
                                        EvaluationObserver observer = {});

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_EVALUATOR_H
