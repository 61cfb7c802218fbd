//===- ProgramParts.h - Runs of calls that programs repeat -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between two transfers, a stage of a pipeline does for one microbatch what it
// does for the next, elsewhere in memory. Such runs of calls are one function,
// given a list of the offsets: then a program's code, and the time that
// compiling it takes, hardly grow with the microbatches.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_PROGRAM_PROGRAMPARTS_H
#define PASSES_LOWERING_PROGRAM_PROGRAMPARTS_H

#include "dialects/Rt/IR/Rt.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <vector>

namespace mlir::dist {

/// A run of kernels and copies between other ops of a program.
struct ProgramPart {
  SmallVector<Operation *> calls;
  /// Of the buffers of one call after another, from the start of the arena or
  /// of their binding.
  SmallVector<int64_t> offsets;
  /// Equal for parts that differ in their offsets alone.
  int64_t code = -1;
};

/// The parts of a module's programs that are worth a function of their own.
class ProgramParts {
public:
  explicit ProgramParts(ModuleOp module);

  /// The part that begins with the op; null if none does.
  const ProgramPart *startingAt(Operation *op) const {
    return parts.lookup(op);
  }
  /// One part of each code, by the code's number.
  ArrayRef<const ProgramPart *> getCodes() const { return codes; }

private:
  void add(ProgramPart &part);

  std::vector<std::unique_ptr<ProgramPart>> all;
  /// By what parts do.
  std::map<std::vector<int64_t>, SmallVector<ProgramPart *, 2>> alike;
  llvm::DenseMap<Operation *, const ProgramPart *> parts;
  SmallVector<const ProgramPart *> codes;
};

/// How many bytes the buffer lies behind the start of what it is in.
int64_t getBufferOffset(Value buffer);

} // namespace mlir::dist

#endif // PASSES_LOWERING_PROGRAM_PROGRAMPARTS_H
