//===- shuffle.h - The order of examples -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order is a function of (seed, pass) alone, so a position in it is a
// number, whatever the batch size or the number of replicas.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DATA_SHUFFLE_H
#define RUNTIME_DATA_SHUFFLE_H

#include <cstdint>
#include <vector>

namespace dist {

/// 64 well-mixed bits of three counters (SplitMix64's finalizer, thrice).
uint64_t mixBits(uint64_t seed, uint64_t pass, uint64_t counter);

/// Fisher-Yates from the back: element i is swapped with the one at
/// floor(mixBits(seed, pass, i) * (i + 1) / 2^64).
void shuffledOrder(uint64_t seed, uint64_t pass, int64_t count,
                   std::vector<int64_t> *order);

} // namespace dist

#endif // RUNTIME_DATA_SHUFFLE_H
