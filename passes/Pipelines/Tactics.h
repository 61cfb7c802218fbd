//===- Tactics.h - Which passes annotate a strategy -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PIPELINES_TACTICS_H
#define PASSES_PIPELINES_TACTICS_H

#include "passes/Pipelines/Pipelines.h"

namespace mlir::dist {

/// A strategy as the annotate pipeline is given it: `zero:stage=2`.
struct StrategyText {
  explicit StrategyText(StringRef text);
  StringRef getKey(StringRef name, StringRef missing) const;

  StringRef name, keys;
};

/// What a strategy adds behind the mesh and the batch's sharding.
struct Tactic {
  StringRef name;
  /// The batch is split because of it.
  bool splitsBatch;
  /// It finds what the strategies before it have decided, and takes only what
  /// is still open (PartIR's tactics): their shardings are propagated first.
  bool findsOthers;
  /// Null: nothing.
  void (*add)(OpPassManager &pm, const AnnotatePipelineOptions &options,
              const StrategyText &strategy);
};

/// Null: there is none of that name.
const Tactic *findTactic(StringRef name);

/// Propagates shardings, and leaves open what no strategy decided.
void addOpenPropagation(OpPassManager &pm,
                        const AnnotatePipelineOptions &options);

/// The pipeline fails with an error that names the strategy.
void addUnknownStrategy(OpPassManager &pm, StringRef text);

} // namespace mlir::dist

#endif // PASSES_PIPELINES_TACTICS_H
