//===- CheckPartition.h - A partitioned program against the whole ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates the functions of a partitioned module on simulated ranks, and those
// of the module as it was before, on the same random inputs; compares every
// value that both have, found by `dist.origin`.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_CHECKPARTITION_H
#define PASSES_ANALYSIS_CHECKPARTITION_H

#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir::dist {

struct CheckOptions {
  uint64_t seed = 0;
  /// Largest allowed difference, relative to the tensor's largest magnitude;
  /// 0: by the element type (f32 1e-5, f16 and bf16 2e-2; f64 1e-9, but 1e-5
  /// where it is computed of f32).
  double tolerance = 0;
};

/// A value that differs.
struct Divergence {
  /// The op (or "argument"/"result") and its place in the model.
  std::string op, place;
  /// The element that differs most, and both values of it.
  std::vector<int64_t> index;
  double expected = 0, actual = 0;
  /// Difference relative to the tensor's largest magnitude. Infinite if ranks
  /// disagree about NaN.
  double difference = 0;
  /// Whether it is that ranks which should hold copies do not agree.
  bool copiesDiffer = false;
};

struct FunctionCheck {
  std::string function;
  int64_t comparedOps = 0;
  /// Gradients of which what has arrived and what is left were compared with
  /// what there was.
  int64_t compressedGradients = 0;
  /// Over all compared values, and where it is.
  double largestDifference = 0;
  std::string largestPlace;
  /// The first op, in program order, whose difference is not allowed.
  std::optional<Divergence> first;
};

/// One entry a function that both modules have. Fails, with errors emitted, if
/// something cannot be evaluated. `global` has been through dist-number-ops.
FailureOr<std::vector<FunctionCheck>>
checkPartition(ModuleOp global, ModuleOp local, const CheckOptions &options);

/// The most bytes that the comparison of one function holds at once: every
/// value of the whole program, and as much of the ranks'.
int64_t estimateCheckBytes(ModuleOp global);

/// A text for users, a line or two a function.
std::string formatCheck(const std::vector<FunctionCheck> &checks);
/// Whether no function diverges.
bool isEqual(const std::vector<FunctionCheck> &checks);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_CHECKPARTITION_H
