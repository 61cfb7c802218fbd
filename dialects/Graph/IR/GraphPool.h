//===- GraphPool.h - Sizes of windows -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IR_GRAPHPOOL_H
#define DIALECTS_GRAPH_IR_GRAPHPOOL_H

#include "dialects/Graph/IR/Graph.h"

namespace mlir::dist::graph {

/// A pool's window over every dim of its operand.
/// Checks a list of a window's numbers, an entry for each of `rank` `dims`: at
/// least `least`, and so small that products of two and sums do not overflow.
LogicalResult
checkWindowList(ArrayRef<int64_t> list, int64_t rank, StringRef dims,
                int64_t least, StringRef name,
                llvm::function_ref<LogicalResult(const Twine &)> fail);

struct WindowShape {
  ArrayRef<int64_t> window, strides, dilations, padLow, padHigh;
  SmallVector<int64_t> operandSizes, resultSizes;

  unsigned getRank() const { return operandSizes.size(); }
  int64_t getNumElements() const {
    uint64_t count = 1;
    for (int64_t size : window)
      count = std::min<uint64_t>(
          llvm::SaturatingMultiply<uint64_t>(count, size), INT64_MAX);
    return count;
  }
  int64_t getExtent(unsigned d) const {
    return (window[d] - 1) * dilations[d] + 1;
  }
  /// Whether dim `d` of the result is dim `d` of the operand.
  bool isPointwise(unsigned d) const {
    return window[d] == 1 && strides[d] == 1 && padLow[d] == 0 &&
           padHigh[d] == 0;
  }
  /// Whether some window's window reaches below 0 or past the operand.
  bool reachesBelow(unsigned d) const { return padLow[d] > 0; }
  bool reachesAbove(unsigned d) const {
    return (resultSizes[d] - 1) * strides[d] + getExtent(d) - 1 - padLow[d] >=
           operandSizes[d];
  }
  bool reachesPadding() const {
    for (unsigned d = 0; d < getRank(); ++d)
      if (reachesBelow(d) || reachesAbove(d))
        return true;
    return false;
  }

  /// From an op or adaptor's attributes and the pool's operand; calls `fail`
  /// with what is wrong.
  template <typename OpT>
  static FailureOr<WindowShape>
  get(OpT op, RankedTensorType operand,
      llvm::function_ref<LogicalResult(const Twine &)> fail) {
    WindowShape shape{op.getWindow(),
                      op.getStrides(),
                      op.getDilations(),
                      op.getPadLow(),
                      op.getPadHigh(),
                      {},
                      {}};
    if (failed(shape.setSizes(operand, fail)))
      return failure();
    return shape;
  }
  /// Of a verified op; `operand` is the type of the pool's operand.
  template <typename OpT> static WindowShape get(OpT op, Value operand) {
    return *get(op, cast<RankedTensorType>(operand.getType()),
                [](const Twine &) { return failure(); });
  }

private:
  LogicalResult setSizes(RankedTensorType operand,
                         llvm::function_ref<LogicalResult(const Twine &)> fail);
};

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IR_GRAPHPOOL_H
