//===- SharedScalars.h - Constants apart for each use -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_SHAREDSCALARS_H
#define PASSES_PARTITION_SHAREDSCALARS_H

#include "mlir/IR/Block.h"

namespace mlir::dist {

/// Copies constants, and what is computed from scalars alone, for each use, so
/// that the sharding of one use does not decide for another.
void copySharedScalarWork(Block &block);

} // namespace mlir::dist

#endif // PASSES_PARTITION_SHAREDSCALARS_H
