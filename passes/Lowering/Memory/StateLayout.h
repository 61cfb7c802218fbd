//===- StateLayout.h - Where a device's state lies --------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_MEMORY_STATELAYOUT_H
#define PASSES_LOWERING_MEMORY_STATELAYOUT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include <set>
#include <vector>

namespace mlir::dist {

/// What the devices keep between runs: variables, and weights as kernels read
/// them. One block a device, whose bytes depend on the program it runs.
struct StateLayout {
  struct Variable {
    /// What a rank holds, and how that is a part of the whole.
    RankedTensorType local;
    Attribute sharding;
    /// That hold it; all of them, where there is but one.
    std::set<int64_t> programs;
    int64_t bytes = 0, offset = 0;
  };
  struct Program {
    /// Offsets by name: entries that prepare the same share it.
    llvm::StringMap<int64_t> prepared;
    int64_t preparedBytes = 0;
    /// Of all the state.
    int64_t bytes = 0;
  };

  llvm::StringMap<Variable> variables;
  std::vector<Program> programs;

  /// Of the program that has most.
  int64_t getBytes() const;
};

/// Lays out the state of a module of rt.programs.
StateLayout layOutState(ModuleOp module);

} // namespace mlir::dist

#endif // PASSES_LOWERING_MEMORY_STATELAYOUT_H
