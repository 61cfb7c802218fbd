//===- reduce.h - Element-wise reduction of ranks' buffers ------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_COMMON_REDUCE_H
#define RUNTIME_COMM_COMMON_REDUCE_H

#include "runtime/core/communicator.h"

namespace dist {

/// For each element i in [lo, hi): combines from[0][i], from[1][i], ... in this
/// order (16-bit floats in f32, rounded once) and stores it to each of `to`.
/// An element's result does not depend on the range. `to` may alias `from`.
using ReduceFn = void (*)(const void *const *from, int numFrom, void *const *to,
                          int numTo, int64_t lo, int64_t hi);

/// Null when the type has no such reduction.
ReduceFn findReduction(DataType type, Reduction reduction);

} // namespace dist

#endif // RUNTIME_COMM_COMMON_REDUCE_H
