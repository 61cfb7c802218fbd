//===- RowFactors.h - Which dims of an op are its rows ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_ROWFACTORS_H
#define PASSES_ANALYSIS_ROWFACTORS_H

#include "dialects/Interfaces/ShardingRule.h"

namespace mlir::dist {

/// Whether a tensor has the factor as its dim 0, and nowhere else.
bool hasAsRows(const TensorFactors &tensor, unsigned factor);
bool hasAnywhere(const TensorFactors &tensor, unsigned factor);

/// The op with other numbers of rows: of `operands`, and of its one result,
/// which gets the type `type`.
FailureOr<Operation *> cloneWithRows(OpBuilder &builder, Operation *op,
                                     ValueRange operands, Type type);

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_ROWFACTORS_H
