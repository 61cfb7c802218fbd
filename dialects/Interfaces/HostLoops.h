//===- HostLoops.h - Loops over whole host tensors -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the reference evaluator does with many elements at once, fast enough to
// check real models: moves by strides, element-wise loops and sums of products,
// on the context's threads. Each sum has one order, whatever the blocks and the
// threads are.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_HOSTLOOPS_H
#define DIALECTS_INTERFACES_HOSTLOOPS_H

#include "dialects/Interfaces/HostTensor.h"

namespace mlir::dist {

/// How far apart neighbours in each dim of a row-major tensor are.
SmallVector<int64_t> getRowMajorStrides(ArrayRef<int64_t> shape);

/// `count` indices from `first` on, whose neighbours are `stride` apart.
struct StridedRange {
  int64_t first, count, stride;
};
/// `base` plus the offset of every index of the box, in row-major order.
std::vector<int64_t> listOffsets(ArrayRef<StridedRange> box, int64_t base = 0);

/// Calls `fn(offset, position)` for each row of a row-major tensor of `shape`
/// (all indices that differ in the last dim alone): where the row begins by
/// `strides` and by the tensor's own. A scalar is one row.
void forEachRow(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
                llvm::function_ref<void(int64_t offset, int64_t position)> fn);

/// A tensor whose element at each index is that of `source` at `base` plus the
/// index times `strides`, which may be 0 or negative.
HostTensor gatherStrided(RankedTensorType type, const HostTensor &source,
                         ArrayRef<int64_t> strides, int64_t base = 0);
/// The reverse: writes all elements of `source` to such places of `result`.
void scatterStrided(const HostTensor &source, HostTensor &result,
                    ArrayRef<int64_t> strides, int64_t base = 0);

/// Calls `fn(begin, end)` for parts of [0, count), at the same time on the
/// context's threads if there is enough to do.
void forEachPart(MLIRContext *context, int64_t count,
                 llvm::function_ref<void(int64_t, int64_t)> fn);

/// Sets every element to `fn(i)`, of the tensor's own kind of number.
template <typename Fn>
void fillFloats(MLIRContext *context, HostTensor &tensor, Fn fn) {
  MutableArrayRef<double> out = tensor.writeFloats();
  forEachPart(context, out.size(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      out[i] = fn(i);
    tensor.adjust(begin, end);
  });
}
template <typename Fn>
void fillInts(MLIRContext *context, HostTensor &tensor, Fn fn) {
  MutableArrayRef<int64_t> out = tensor.writeInts();
  forEachPart(context, out.size(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      out[i] = fn(i);
    tensor.adjust(begin, end);
  });
}

/// sums[rows[m] + columns[n]] += lhs[rows[m] + terms[k]] *
/// rhs[terms[k] + columns[n]] for all k in order, each with its own offsets.
template <typename T> struct ProductSums {
  const T *lhs, *rhs;
  T *sums;
  ArrayRef<int64_t> lhsRows, lhsTerms, rhsTerms, rhsColumns, sumRows,
      sumColumns;
};
/// Adds the products of all jobs, whose sums are distinct, in cache blocks and
/// at the same time on the context's threads.
void addProducts(MLIRContext *context, ArrayRef<ProductSums<double>> jobs);
void addProducts(MLIRContext *context, ArrayRef<ProductSums<uint64_t>> jobs);

} // namespace mlir::dist

#endif // DIALECTS_INTERFACES_HOSTLOOPS_H
