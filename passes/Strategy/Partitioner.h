//===- Partitioner.h - Cutting variables for servers ------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_STRATEGY_PARTITIONER_H
#define PASSES_STRATEGY_PARTITIONER_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"

namespace mlir::dist {

/// Into how many parts a variable is cut along dim 0: tf.distribute's three
/// ways, as `--partitioner` names them.
class Partitioner {
public:
  /// `KIND=N[:max=N]`; empty: all variables stay whole. Emits what is wrong
  /// with anything else.
  static FailureOr<Partitioner>
  parse(StringRef text, int64_t servers,
        function_ref<InFlightDiagnostic()> emitError);
  /// At least 1, at most the rows.
  int64_t countParts(RankedTensorType type) const;

private:
  enum class Kind { None, Fixed, MinSize, MaxSize };
  Kind kind = Kind::None;
  int64_t number = 0, most = 0; // parts or bytes; most 0: any
};

} // namespace mlir::dist

#endif // PASSES_STRATEGY_PARTITIONER_H
