//===- CollectiveCalls.h - Collectives over buffers -------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_PROGRAM_COLLECTIVECALLS_H
#define PASSES_LOWERING_PROGRAM_COLLECTIVECALLS_H

#include "dialects/Dist/IR/Dist.h"
#include "dialects/Rt/IR/Rt.h"

namespace mlir::dist {

/// A tensor of a collective at its addresses. Those of a send have no `to`,
/// those of a recv no `from`.
struct CollectiveBuffer {
  CollectivePiece piece;
  Value from, to;
  /// Where the addresses are in the arena; -1: elsewhere.
  int64_t fromOffset = -1, toOffset = -1;
};

/// The axes of its groups as numbers of the mesh's.
SmallVector<int64_t> getAxisNumbers(CollectiveOpInterface op);

/// The row of the package for what of `op` moves `operands`.
DictionaryAttr describeTransfer(CollectiveOpInterface op, int64_t id,
                                ValueRange operands);

rt::PieceAttr getPieceAttr(MLIRContext *context, const CollectivePiece &piece);

/// Emits the runtime's call of `op`, transfer `id`. Whole tensors that lie one
/// behind the other, up to the arena's alignment, become one.
LogicalResult emitCollective(OpBuilder &builder, CollectiveOpInterface op,
                             int64_t id, const CollectiveCall &call,
                             ArrayRef<CollectiveBuffer> buffers);

} // namespace mlir::dist

#endif // PASSES_LOWERING_PROGRAM_COLLECTIVECALLS_H
