//===- PropagationState.h - What propagation knows of a value -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_PROPAGATIONSTATE_H
#define PASSES_PARTITION_PROPAGATIONSTATE_H

#include "passes/Partition/FactorSharding.h"
#include "llvm/ADT/DenseSet.h"
#include <set>

namespace mlir::dist {

/// What is known of a value, a variable or a declared result so far.
struct PropagationState {
  RankedTensorType type;
  AxisLists dims;
  SmallVector<bool> open;
  AxisList unreduced, replicated;
  /// Of each dim; empty if all have 0.
  SmallVector<int64_t> priorities;
  /// The rows of where its axes came from, if that is kept.
  SmallVector<int32_t, 2> sources;

  PropagationState() = default;
  PropagationState(RankedTensorType type, ShardingAttr sharding);
  /// Takes the axes of `wanted` where they extend its own, and calls `added`
  /// for each; true if so. With `strict` only such that divide.
  bool extend(const AxisLists &wanted, MeshOp mesh, bool strict,
              llvm::function_ref<void(unsigned dim, StringAttr axis)> added);
  /// With `close` all dims are closed and without priorities: the last one.
  ShardingAttr getSharding(FlatSymbolRefAttr meshName, bool close) const;

  /// Dims with a priority above 0 (added to `found`) take no part until
  /// `release`: they are whole and closed, and no other dim gets their axes.
  void hold(std::set<int64_t> &found);
  void release(int64_t priority);

private:
  struct Held {
    unsigned dim;
    AxisList axes;
    bool open;
  };
  SmallVector<Held, 0> held;
  /// The priority that was released last.
  int64_t round = 0;
};

/// Fails with an error at `op` where a dim of `what` cannot be split into as
/// many equal parts as its sharding has, not even padded; with `strict` padding
/// is an error, too.
LogicalResult checkDivides(Operation *op, const Twine &what, Type type,
                           ShardingAttr sharding, MeshOp mesh, bool strict);

/// Which ops have something to find out: all at first, then those that give or
/// take a value whose state has changed since they were visited.
class OpsToVisit {
public:
  /// Whether to visit `op` now; then it need not be again, until `add`.
  bool begin(Operation *op) { return settled.insert(op).second; }
  /// The value's state has changed.
  void add(Value value);
  void addAll() { settled.clear(); }

  /// It does not change while shardings spread, and is asked for at each visit.
  /// The reference lasts until the next call.
  const ShardingRule &getRule(Operation *op);

private:
  DenseSet<Operation *> settled;
  DenseMap<Operation *, ShardingRule> rules;
};

} // namespace mlir::dist

#endif // PASSES_PARTITION_PROPAGATIONSTATE_H
