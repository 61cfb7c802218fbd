//===- SplitPatterns.h - Where a model lets itself be split -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Megatron's scheme (Shoeybi et al., 2019) found in any graph: a weight is
// split along a dim of its results ("column"), what follows computes on parts,
// until contractions with other weights over that dim ("row") give partial
// sums, which one all-reduce completes. Attention heads, gated layers and
// channels of convolutions are the same pattern. The search follows the ops'
// sharding rules and knows no op by name.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_STRATEGY_SPLITPATTERNS_H
#define PASSES_STRATEGY_SPLITPATTERNS_H

#include "dialects/Interfaces/ShardingRule.h"
#include "passes/Strategy/Annotate.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {

/// The variable that a value is, or is a layout or type of; else null.
graph::VariableOp findVariableOf(Value value, const VariableTable &table);

/// The function to look for patterns in: the one with the least beside the
/// model; null if there is none.
func::FuncOp findEntry(ModuleOp module);

/// What splitting one dim of one variable entails.
struct SplitPattern {
  /// The variables that are split along with it, and along which dim.
  llvm::MapVector<graph::VariableOp, unsigned> variables;
  /// Contractions over the split dim: each gives a partial sum.
  unsigned rows = 0;
  /// It reaches a result of the function (logits stay split).
  bool reachesResult = false;
  /// Contractions of activations by activations are among it: attention.
  bool hasAttention = false;
  /// Convolutions, told by the windows of a contraction, are among it.
  bool hasWindows = false;
};

/// The factor that `parts` parts of a tensor's dim are parts of: its major one;
/// none where it has no such parts.
std::optional<unsigned> getMajorFactor(const ShardingRule &rule,
                                       const DimFactors &dim, int64_t parts,
                                       bool mayPad);

/// Follows `argument`'s dim `dim`, split into `parts`, through its function;
/// with `mayPad` the parts need not be equal (dist-pad-indivisible). Fails
/// (without an error) if it meets an op that cannot be split so or a sum that
/// is no contraction with a variable (unless `anyEnd`: then these count as
/// results reached), or an input.
FailureOr<SplitPattern> followSplit(BlockArgument argument,
                                    const VariableTable &table, unsigned dim,
                                    int64_t parts, bool mayPad, bool anyEnd);

/// Variables with the dim along which to split each.
using PatternDims = llvm::MapVector<graph::VariableOp, unsigned>;

/// Adds to `found` the dims of variables to split over an axis of `parts` by
/// `preset` (auto, mlp, transformer, conv, vocab), first patterns first; of
/// variables that are there already, none. `vocab`: the weights of the last
/// layers, along classes, and the tables that tokens are looked up in.
void findSplits(func::FuncOp entry, const VariableTable &table, int64_t parts,
                bool mayPad, StringRef preset, PatternDims &found);

/// The same of attention alone.
void findAttentionSplits(func::FuncOp entry, const VariableTable &table,
                         int64_t parts, StringRef preset, PatternDims &found);

} // namespace mlir::dist

#endif // PASSES_STRATEGY_SPLITPATTERNS_H
