//===- FactorSharding.h - Shardings of dims as shardings of factors -------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dim is one or several factors, major to minor (a reshape's merged dims).
// Its axes are dealt out to them in order: a factor must be used up before the
// next one gets any. What propagation, resharding and partitioning all do is to
// go from dims to factors, decide there, and come back.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_FACTORSHARDING_H
#define PASSES_PARTITION_FACTORSHARDING_H

#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Interfaces/ShardingRule.h"

namespace mlir::dist {

using AxisList = SmallVector<StringAttr>;
/// One list a dim of a tensor, or a factor of an op.
using AxisLists = SmallVector<AxisList>;

/// Adds the axes of one tensor's dims to the factors they split (but for axes
/// of size 1); factors that the tensor does not have stay untouched. Returns
/// false if some axes do not fit the factors (those are left out).
bool projectToFactors(ArrayRef<AxisList> dims, const TensorFactors &tensor,
                      const ShardingRule &rule, MeshOp mesh,
                      AxisLists &factors);

/// The part of an axis to cut off, so that a dim of several factors hands the
/// rest of it on to the next: {"model"} of 4 over [2, 8] is (1)2 over the 2 and
/// (2)2 over the 8. None if no axis that `mayCut` allows would be cut so.
std::optional<std::string>
findPartToCut(ArrayRef<AxisList> dims, const TensorFactors &tensor,
              const ShardingRule &rule, MeshOp mesh,
              llvm::function_ref<bool(StringAttr)> mayCut);

/// The axes of one tensor dim from those of its factors.
AxisList projectToDim(const DimFactors &dim, const AxisLists &factors,
                      const ShardingRule &rule, MeshOp mesh);
AxisLists projectToDims(const TensorFactors &tensor, const AxisLists &factors,
                        const ShardingRule &rule, MeshOp mesh);

/// Whether a factor may be split at all.
bool isSplittable(const Factor &factor);

/// Whether a factor may be split into `parts` parts: they are equal, or the
/// dims that have it are no others' and can be padded (dist-pad-indivisible).
/// Dims that a reshape merges or cuts cannot: their parts would be elsewhere.
bool canSplit(const ShardingRule &rule, unsigned factor, int64_t parts);

/// The axes of each dim of a sharding.
AxisLists getDimAxes(ShardingAttr sharding);

/// Whether both split the dims into the same parts: over the same axes, but for
/// those of size 1.
bool splitsAlike(ArrayRef<AxisList> a, ArrayRef<AxisList> b, MeshOp mesh);

/// How the factors of `op` are split, as the shardings of its operands and
/// results say (after dist-insert-reshards they agree).
AxisLists getFactorAxes(Operation *op, const ShardingRule &rule, MeshOp mesh);

/// Whether `a` is the start of `b`.
bool isPrefix(ArrayRef<StringAttr> a, ArrayRef<StringAttr> b);

} // namespace mlir::dist

#endif // PASSES_PARTITION_FACTORSHARDING_H
