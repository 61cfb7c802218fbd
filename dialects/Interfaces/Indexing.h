//===- Indexing.h - Integers that number something -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_INDEXING_H
#define DIALECTS_INTERFACES_INDEXING_H

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace mlir::dist {

/// What integers stand for.
enum class IndexKind {
  /// Elements along a dim, of n: 0 to n-1, and -n to -1 from the end where the
  /// type has a sign. Kernels clamp others, so they are checked before.
  Row,
  /// One of the numbers 0 to n-1, such as the class of a label. Others equal
  /// none of them: what that means is the op's.
  Number,
};

struct IndexUse {
  /// The operand that holds the integers.
  unsigned operand = 0;
  IndexKind kind = IndexKind::Row;
  /// How many there are to choose from. Several: one for each place along the
  /// operand's last dim (coordinates).
  SmallVector<int64_t, 2> counts;
  /// The operand of which the result has the elements that were chosen; none
  /// where something is written there or compared.
  std::optional<unsigned> table;
};

} // namespace mlir::dist

#include "dialects/Interfaces/Indexing.h.inc"

#endif // DIALECTS_INTERFACES_INDEXING_H
