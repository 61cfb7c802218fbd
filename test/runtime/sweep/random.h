//===- random.h - Numbers that are the same everywhere ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SWEEP_RANDOM_H
#define TEST_RUNTIME_SWEEP_RANDOM_H

#include <cstdint>
#include <initializer_list>

namespace dist::sweep {

/// Numbers that are the same everywhere.
class Random {
public:
  Random(uint64_t seed, uint64_t index)
      : state(seed * 0x9e3779b97f4a7c15u + index * 0xd1342543de82ef95u) {}
  uint64_t next() {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int64_t between(int64_t low, int64_t high) {
    return low + int64_t(next() % uint64_t(high - low + 1));
  }
  bool oneIn(int64_t n) { return between(1, n) == 1; }
  template <typename T> T pick(std::initializer_list<T> values) {
    return values.begin()[between(0, int64_t(values.size()) - 1)];
  }
  /// In [-1, 1).
  double real() { return double(next() >> 11) / double(1ull << 52) - 1; }

private:
  uint64_t state;
};

} // namespace dist::sweep

#endif // TEST_RUNTIME_SWEEP_RANDOM_H
