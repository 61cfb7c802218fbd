//===- EntryCases.h - Whole entries as the evaluator has them -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For --check=kernels: what a compiled entry takes and has to give on all of
// its ranks. Kernels may all be right, and yet two of them share memory that
// the plan should have kept apart, or a collective moves the wrong bytes.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_CHECK_ENTRYCASES_H
#define PASSES_LOWERING_CHECK_ENTRYCASES_H

#include "passes/Analysis/Evaluator.h"
#include <string>
#include <vector>

namespace mlir::dist {

/// An entry and the functions that its ranks run, with random arguments.
struct EntryPrograms {
  func::FuncOp entry;             // of the whole program
  SmallVector<HostTensor> inputs; // that are no variables, whole
  SmallVector<RankProgram> programs;
};

/// The programs that `kernels` has for `entry`; none if it has none. Fails with
/// an error where arguments are none of the whole entry.
FailureOr<EntryPrograms> makeEntryPrograms(func::FuncOp entry, ModuleOp kernels,
                                           uint64_t seed);

struct EntryCase {
  std::string name;
  std::vector<std::string> programs; // the names of its functions
  SmallVector<HostTensor> inputs;
  /// What a rank holds of a variable, before the entry runs and after.
  struct Slice {
    std::string variable;
    int64_t rank;
    HostTensor before, after;
  };
  std::vector<Slice> slices;
  struct Output {
    std::string name;
    HostTensor expected; // whole
  };
  std::vector<Output> outputs;
  /// Largest difference that the types it computes in allow, relative to a
  /// result's largest magnitude.
  double tolerance = 0;
};

/// The case that `results`, one list a program, make.
EntryCase makeEntryCase(const EntryPrograms &programs,
                        ArrayRef<SmallVector<SmallVector<HostTensor>>> results);

/// The same with every float of the arguments moved by a rounding of the
/// narrowest type that the entry computes in: how far results move then is how
/// well they are known.
FailureOr<EntryCase> evaluateMoved(const EntryPrograms &programs);

/// The largest difference that the types that `op` computes in allow.
double getTypeTolerance(Operation *op);

} // namespace mlir::dist

#endif // PASSES_LOWERING_CHECK_ENTRYCASES_H
