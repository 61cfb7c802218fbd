//===- EntryCheck.h - Compiled entries against the evaluator --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_OPT_ENTRYCHECK_H
#define TOOLS_DIST_OPT_ENTRYCHECK_H

#include "passes/Lowering/Check/EntryCases.h"
#include "passes/Lowering/Lowering.h"
#include "runtime/core/status.h"
#include "runtime/formats/safetensors.h"

namespace mlir::dist {

/// The real program of one lowering (memory plan, collectives, reductions that
/// devices share) on all ranks, entry by entry.
class EntryChecker {
public:
  /// What is found of an entry.
  struct Found {
    std::string entry;
    std::vector<std::string> programs;
    int64_t compared = 0;
    double largest = 0;
    std::string at; // the result of the largest difference
    /// Of the first result that differs; empty: none.
    std::string first;
    SmallVector<int64_t> index;
    double expected = 0, actual = 0, difference = 0;
  };

  /// `few`: as lowerToPackage takes it. `folder` is the checker's own.
  EntryChecker(ModuleOp local, ModuleOp few, const LoweringOptions &options,
               std::string folder)
      : local(local), few(few), options(options), folder(std::move(folder)) {}

  /// Writes the package. Fails after an error was emitted.
  LogicalResult compile();
  /// Runs the entry and compares. Fails after an error was emitted, or with a
  /// status.
  LogicalResult run(const EntryPrograms &programs, const EntryCase &test);

  const std::vector<Found> &getFound() const { return found; }
  const ::dist::Status &getStatus() const { return status; }

private:
  /// A result, and how far it moves with the arguments' rounding.
  struct Comparison {
    std::string name;
    const HostTensor &expected;
    HostTensor actual;
    const HostTensor *moved;
  };
  LogicalResult read(const ::dist::SafetensorsFile &results,
                     const EntryCase &test, const EntryCase *moved,
                     std::vector<Comparison> &list);
  static Found compare(const EntryCase &test, ArrayRef<Comparison> list);

  ModuleOp local, few;
  LoweringOptions options;
  std::string folder;
  std::vector<Found> found;
  ::dist::Status status;
};

} // namespace mlir::dist

#endif // TOOLS_DIST_OPT_ENTRYCHECK_H
