//===- ShardingRule.h - How an op's dims may be split -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sharding rule says which dims of an op's operands and results are the same
// "factor" of its iteration space, and what splitting that factor over mesh
// axes does to the results. The representation follows Shardy's OpShardingRule
// (openxla/shardy, docs/propagation.md); the values are plain data, so that
// rules can be built and read without a dialect.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_SHARDINGRULE_H
#define DIALECTS_INTERFACES_SHARDINGRULE_H

#include "dialects/Interfaces/Reduction.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::dist {

/// What splitting a factor does to the op.
enum class FactorKind {
  /// Each shard computes its own part: no communication.
  PassThrough,
  /// The factor is absent from the results: they come out unreduced.
  Reduction,
  /// Elements need neighbours along the dim: what windows (of convolutions,
  /// pools, pads) slide over, and their taps. Not split: a halo exchange would
  /// be needed.
  Permutation,
  /// The op needs the whole dim on every rank.
  NeedReplication,
};

struct Factor {
  /// Number of elements.
  int64_t size = 1;
  FactorKind kind = FactorKind::PassThrough;
  /// For Reduction factors: how the ranks' partial results combine.
  Reduction reduction = Reduction::Sum;
};

/// The factors of one tensor dim, major to minor; their sizes multiply to the
/// dim's size. Empty: a dim that no factor maps to (broadcast, size 1).
using DimFactors = SmallVector<unsigned, 1>;
using TensorFactors = SmallVector<DimFactors>;

struct ShardingRule {
  SmallVector<Factor> factors;
  SmallVector<TensorFactors> operands;
  SmallVector<TensorFactors> results;
  /// Sets of operands in which the op is jointly linear: when exactly the
  /// operands of one set are unreduced (sum) over an axis, the results are
  /// unreduced over it. Add: {0,1}; Mul: {0} and {1}; Reshape: {0}.
  SmallVector<SmallVector<unsigned>> linear;
  /// Operands of which no element is read: whole, split, padded or unreduced,
  /// they are taken as they are. They have no factors.
  SmallVector<unsigned, 1> unread;
  bool reads(unsigned operand) const {
    return !llvm::is_contained(unread, operand);
  }
};

/// Builds a rule factor by factor:
///   ShardingRuleBuilder(op).factor(m, {{0,0}}, {{0,0}}).reduction(k, ...)
/// A ValueDim names a dim of an operand or result: {number, dim}.
class ShardingRuleBuilder {
public:
  struct ValueDim {
    unsigned value;
    unsigned dim;
  };
  /// Every operand and result that is a ranked tensor gets a row of empty dims.
  explicit ShardingRuleBuilder(Operation *op);
  ShardingRuleBuilder &factor(int64_t size, ArrayRef<ValueDim> operands,
                              ArrayRef<ValueDim> results,
                              FactorKind kind = FactorKind::PassThrough,
                              Reduction reduction = Reduction::Sum);
  ShardingRuleBuilder &reduction(int64_t size, ArrayRef<ValueDim> operands,
                                 Reduction kind = Reduction::Sum) {
    return factor(size, operands, {}, FactorKind::Reduction, kind);
  }
  ShardingRuleBuilder &linear(ArrayRef<unsigned> operands);
  ShardingRuleBuilder &unread(unsigned operand) {
    rule.unread.push_back(operand);
    return *this;
  }
  ShardingRule build() { return std::move(rule); }

private:
  ShardingRule rule;
};

/// The rule of an op whose operands and results all have one shape: one
/// pass-through factor a dim. Operands of fewer dims are not allowed.
ShardingRule getElementwiseRule(Operation *op,
                                ArrayRef<SmallVector<unsigned>> linear = {});

/// Clones `op` with local operands and result types, all attributes kept: the
/// default of `ShardingRuleOpInterface::partition`.
FailureOr<Operation *> cloneWithLocalTypes(Operation *op, OpBuilder &builder,
                                           ValueRange operands,
                                           TypeRange resultTypes);

/// Whether the op sums products of two operands, over a factor of both or over
/// the taps of a window.
bool sumsProducts(Operation *op);
bool sumsProducts(const ShardingRule &rule);
/// Whether windows slide over what the op computes.
bool hasWindows(const ShardingRule &rule);

} // namespace mlir::dist

#include "dialects/Interfaces/ShardingRule.h.inc"

#endif // DIALECTS_INTERFACES_SHARDINGRULE_H
