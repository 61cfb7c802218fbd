//===- reduce.cpp - Element-wise reduction of ranks' buffers --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/common/reduce.h"
#include "runtime/core/half.h"
#include <algorithm>
#include <type_traits>

namespace dist {

namespace {

/// Storage and arithmetic of an element type.
template <typename T> struct Plain {
  using Stored = T;
  static T load(T value) { return value; }
  static T store(T value) { return value; }
};

struct BFloat16 {
  using Stored = uint16_t;
  static float load(uint16_t bits) { return bfloatToFloat(bits); }
  static uint16_t store(float value) { return floatToBfloat(value); }
};

struct Half {
  using Stored = uint16_t;
  static float load(uint16_t bits) { return halfToFloat(bits); }
  static uint16_t store(float value) { return floatToHalf(value); }
};

template <Reduction R, typename V> V combine(V a, V b) {
  if constexpr (R == Reduction::Sum) {
    if constexpr (std::is_same_v<V, bool>)
      return a || b;
    else if constexpr (std::is_integral_v<V>) // wraps, in signed types too
      return V(uint64_t(a) + uint64_t(b));
    else
      return a + b;
  } else if constexpr (R == Reduction::Product) {
    if constexpr (std::is_same_v<V, bool>)
      return a && b;
    else if constexpr (std::is_integral_v<V>)
      return V(uint64_t(a) * uint64_t(b));
    else
      return a * b;
  } else if constexpr (R == Reduction::Max) {
    // A NaN stays, whichever rank brings it.
    return a > b || a != a ? a : b;
  } else {
    return a < b || a != a ? a : b;
  }
}

template <typename T, Reduction R>
void reduce(const void *const *from, int numFrom, void *const *to, int numTo,
            int64_t lo, int64_t hi) {
  using Stored = typename T::Stored;
  using Value = decltype(T::load(Stored()));
  // A block in the first cache holds the sums, since `to` aliases `from`.
  constexpr int64_t blockSize = 512;
  Value block[blockSize];
  for (int64_t start = lo; start < hi; start += blockSize) {
    int64_t size = std::min(blockSize, hi - start);
    const Stored *first = static_cast<const Stored *>(from[0]) + start;
    // The first two in one pass: most sums have no more.
    if (numFrom > 1) {
      const Stored *second = static_cast<const Stored *>(from[1]) + start;
      for (int64_t i = 0; i < size; ++i)
        block[i] = combine<R, Value>(T::load(first[i]), T::load(second[i]));
    } else {
      for (int64_t i = 0; i < size; ++i)
        block[i] = T::load(first[i]);
    }
    for (int r = 2; r < numFrom; ++r) {
      const Stored *next = static_cast<const Stored *>(from[r]) + start;
      for (int64_t i = 0; i < size; ++i)
        block[i] = combine<R, Value>(block[i], T::load(next[i]));
    }
    for (int r = 0; r < numTo; ++r) {
      Stored *result = static_cast<Stored *>(to[r]) + start;
      for (int64_t i = 0; i < size; ++i)
        result[i] = T::store(block[i]);
    }
  }
}

template <typename T> ReduceFn find(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return reduce<T, Reduction::Sum>;
  case Reduction::Max:
    return reduce<T, Reduction::Max>;
  case Reduction::Min:
    return reduce<T, Reduction::Min>;
  case Reduction::Product:
    return reduce<T, Reduction::Product>;
  }
  return nullptr;
}

} // namespace

ReduceFn findReduction(DataType type, Reduction reduction) {
  switch (type) {
  case manifest::F32:
    return find<Plain<float>>(reduction);
  case manifest::F64:
    return find<Plain<double>>(reduction);
  case manifest::F16:
    return find<Half>(reduction);
  case manifest::BF16:
    return find<BFloat16>(reduction);
  case manifest::BOOL:
    return find<Plain<bool>>(reduction);
  case manifest::I8:
    return find<Plain<int8_t>>(reduction);
  case manifest::I16:
    return find<Plain<int16_t>>(reduction);
  case manifest::I32:
    return find<Plain<int32_t>>(reduction);
  case manifest::I64:
    return find<Plain<int64_t>>(reduction);
  case manifest::U8:
    return find<Plain<uint8_t>>(reduction);
  case manifest::U16:
    return find<Plain<uint16_t>>(reduction);
  case manifest::U32:
    return find<Plain<uint32_t>>(reduction);
  case manifest::U64:
    return find<Plain<uint64_t>>(reduction);
  default:
    return nullptr;
  }
}

} // namespace dist
