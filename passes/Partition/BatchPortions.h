//===- BatchPortions.h - Which dims are split by weight -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a function of one portion (`dist.portion`) dims of examples are split by
// weight, while what else is split over that axis (a variable's shards, one row
// a replica) has equal parts. Which dims are of examples: those of inputs, and
// what ops' factors tie to them.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_BATCHPORTIONS_H
#define PASSES_PARTITION_BATCHPORTIONS_H

#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Portion.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::dist {

class BatchPortions {
public:
  /// Before dist-partition; on functions without a portion it knows of no dim.
  BatchPortions(func::FuncOp function, MeshOp mesh);

  /// Fails, with an error at the op, where examples meet equal parts.
  LogicalResult run();

  const std::optional<Portion> &getPortion() const { return portion; }
  bool isPortion(Value value, unsigned dim) const;

  /// The type of this position's part. Fails if a dim is not divisible.
  FailureOr<RankedTensorType> getLocalType(Value value, ShardingAttr sharding);
  /// The type of the whole with each dim as large as equal parts need; dims of
  /// examples in one of `values` stay as they are.
  RankedTensorType getPaddedType(RankedTensorType type, ShardingAttr sharding,
                                 ArrayRef<Value> values) const;

private:
  enum class Kind { Unknown, Examples, Equal };
  using ValueDim = std::pair<Value, unsigned>;

  unsigned getNode(Value value, unsigned dim);
  unsigned findRoot(unsigned node) const;
  /// Whether the two may be of one kind.
  bool join(unsigned a, unsigned b);
  bool set(Value value, Kind kind);
  LogicalResult visit(Operation *op);
  LogicalResult joinAll(Operation *op, ArrayRef<ValueDim> dims);

  func::FuncOp function;
  MeshOp mesh;
  std::optional<Portion> portion;
  DenseMap<ValueDim, unsigned> nodes;
  std::vector<unsigned> parents;
  std::vector<Kind> kinds; // of roots
};

} // namespace mlir::dist

#endif // PASSES_PARTITION_BATCHPORTIONS_H
