//===- ChannelsLast.h - Activations with their channels last -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_CHANNELSLAST_H
#define DIALECTS_INTERFACES_CHANNELSLAST_H

#include "mlir/IR/OpDefinition.h"

namespace mlir::dist {

/// What becomes of an op's results when its operands' channels are moved last.
enum class ChannelMove {
  /// The op cannot have them there.
  Refused,
  /// The results have theirs last, too.
  Follows,
  /// The results are as before.
  Stays,
};

/// Where channels-first dim `dim` goes.
int64_t moveDim(int64_t dim, int64_t rank);
/// Channels-last dim i is channels-first dim `p[i]`: [0, 2, .., rank-1, 1].
SmallVector<int64_t> getChannelsLastOrder(int64_t rank);
/// The reverse: channels-first dim i is channels-last dim `p[i]`.
SmallVector<int64_t> getChannelsFirstOrder(int64_t rank);
SmallVector<int64_t> permute(ArrayRef<int64_t> values,
                             ArrayRef<int64_t> permutation);

/// Whether the operand has as many dims as operand 0.
bool hasDimsOfFirst(Operation *op, unsigned operand);

} // namespace mlir::dist

#include "dialects/Interfaces/ChannelsLast.h.inc"

#endif // DIALECTS_INTERFACES_CHANNELSLAST_H
