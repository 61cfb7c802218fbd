//===- convert.cpp - Elements of one type to another -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/convert.h"
#include <cmath>
#include <cstring>
#include <limits>

namespace dist {

bool isFloat(DataType type) {
  return type == manifest::F32 || type == manifest::F64 ||
         type == manifest::F16 || type == manifest::BF16;
}

namespace {

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};
struct Bool {
  uint8_t value;
};

template <typename T> inline auto widen(T value) { return value; }
inline auto widen(Half value) { return halfToFloat(value.bits); }
inline auto widen(Bfloat value) { return bfloatToFloat(value.bits); }
inline auto widen(Bool value) { return uint8_t(value.value != 0); }

template <typename To, typename From> inline To narrow(From value) {
  if constexpr (std::is_same_v<To, Half>) {
    return {floatToHalf(float(value))};
  } else if constexpr (std::is_same_v<To, Bfloat>) {
    return {floatToBfloat(float(value))};
  } else if constexpr (std::is_same_v<To, Bool>) {
    return {uint8_t(value != From(0))};
  } else if constexpr (std::is_integral_v<To> &&
                       std::is_floating_point_v<From>) {
    // Out of range is undefined in C++; here it saturates, NaN gives 0.
    if (!(value == value))
      return 0;
    if (value <= From(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    if (value >= From(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
    return To(value);
  } else {
    return To(value);
  }
}

/// Calls `use` with a value of the C++ type of `type`.
template <typename Use> void withType(DataType type, Use use) {
  switch (type) {
  case manifest::F32:
    return use(float());
  case manifest::F64:
    return use(double());
  case manifest::F16:
    return use(Half());
  case manifest::BF16:
    return use(Bfloat());
  case manifest::BOOL:
    return use(Bool());
  default:
    withIntegerType(type, use);
  }
}

} // namespace

void convertElements(DataType from, const void *in, DataType to, void *out,
                     size_t count) {
  if (from == to) {
    if (count)
      std::memcpy(out, in, count * byteSize(from));
    return;
  }
  withType(from, [&](auto source) {
    using From = decltype(source);
    withType(to, [&](auto target) {
      using To = decltype(target);
      const char *next = static_cast<const char *>(in);
      To *result = static_cast<To *>(out);
      // File data may be unaligned, hence the copies; they compile to loads.
      for (size_t i = 0; i < count; ++i) {
        From value;
        std::memcpy(&value, next + i * sizeof value, sizeof value);
        result[i] = narrow<To>(widen(value));
      }
    });
  });
}

double elementAsDouble(DataType type, const void *data, size_t index) {
  double value = 0;
  convertElements(type,
                  static_cast<const char *>(data) + index * byteSize(type),
                  manifest::F64, &value, 1);
  return value;
}

} // namespace dist
