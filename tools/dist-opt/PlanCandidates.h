//===- PlanCandidates.h - What --strategy auto weighs -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_OPT_PLANCANDIDATES_H
#define TOOLS_DIST_OPT_PLANCANDIDATES_H

#include "mlir/Support/LLVM.h"
#include "tools/options/options.h"
#include <string>
#include <vector>

namespace mlir::dist {

struct TrainedModels;

/// A parameter, and the dim that the model's axis splits; -1: none.
struct SplitVariable {
  std::string name;
  std::vector<int64_t> shape;
  int64_t dim = -1;
};

/// One plan and what is predicted of it.
struct Candidate {
  ::dist::tools::Options options;
  std::string name;
  /// A way to split a model that is beside another row's: only models that
  /// allow it are told of it.
  bool isVariant = false;
  /// Why it cannot be taken; empty: it can.
  std::string refused;
  double seconds = 0, transferSeconds = 0, bytesSent = 0;
  int64_t peak = 0;
  /// Where there is an axis for the model.
  std::vector<SplitVariable> variables;

  bool wasPredicted() const { return peak > 0; }
  bool isBetterThan(const Candidate &other) const;
};

/// What a user would type for it, in short: `tensor-split on model=2,
/// --split-preset auto,vocab`.
std::string nameOf(const ::dist::tools::Options &options);

/// Every row of the strategies' table and their compositions, for each way to
/// arrange the devices as data x stage x model, in one process and, with
/// --workers, in so many.
std::vector<Candidate> listCandidates(const ::dist::tools::Options &options);

/// Compiles it as far as kernels, what a step runs or everything, and predicts
/// the step.
void weigh(Candidate &candidate, TrainedModels &trained, bool whole = false);

/// What --split rules can make of `start`, a plan with an axis for the model:
/// variables that repeated layers have alike are one group, and each group in
/// turn, the largest first, is left whole or split along another dim as long as
/// the step gets shorter, or while it does not fit, smaller. Tells in `changes`
/// what was changed. Nothing: the plan stays as it is.
std::optional<Candidate> searchSplits(const Candidate &start,
                                      TrainedModels &trained,
                                      std::vector<std::string> &changes);

} // namespace mlir::dist

#endif // TOOLS_DIST_OPT_PLANCANDIDATES_H
