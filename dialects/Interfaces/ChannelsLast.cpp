//===- ChannelsLast.cpp - Activations with their channels last -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/ChannelsLast.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace mlir::dist;

#include "dialects/Interfaces/ChannelsLast.cpp.inc"

int64_t mlir::dist::moveDim(int64_t dim, int64_t rank) {
  return dim == 0 ? 0 : dim == 1 ? rank - 1 : dim - 1;
}

SmallVector<int64_t> mlir::dist::getChannelsLastOrder(int64_t rank) {
  SmallVector<int64_t> order(rank);
  for (int64_t d = 0; d < rank; ++d)
    order[moveDim(d, rank)] = d;
  return order;
}

SmallVector<int64_t> mlir::dist::getChannelsFirstOrder(int64_t rank) {
  SmallVector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d)
    order.push_back(moveDim(d, rank));
  return order;
}

SmallVector<int64_t> mlir::dist::permute(ArrayRef<int64_t> values,
                                         ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result;
  for (int64_t p : permutation)
    result.push_back(values[p]);
  return result;
}

bool mlir::dist::hasDimsOfFirst(Operation *op, unsigned operand) {
  auto rankOf = [&](unsigned i) {
    return cast<RankedTensorType>(op->getOperand(i).getType()).getRank();
  };
  return rankOf(operand) == rankOf(0);
}
