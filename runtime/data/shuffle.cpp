//===- shuffle.cpp - The order of examples -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/shuffle.h"
#include <numeric>
#include <utility>

namespace dist {

static uint64_t finalize(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t mixBits(uint64_t seed, uint64_t pass, uint64_t counter) {
  return finalize(finalize(finalize(seed) ^ pass) ^ counter);
}

void shuffledOrder(uint64_t seed, uint64_t pass, int64_t count,
                   std::vector<int64_t> *order) {
  order->resize(count);
  std::iota(order->begin(), order->end(), 0);
  for (int64_t i = count - 1; i > 0; --i) {
    unsigned __int128 wide = mixBits(seed, pass, i);
    int64_t j = int64_t(wide * uint64_t(i + 1) >> 64);
    std::swap((*order)[i], (*order)[j]);
  }
}

} // namespace dist
