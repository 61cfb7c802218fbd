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

float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;
  if (exponent == 0) { // Zero or subnormal: mantissa * 2^-24.
    float value = std::ldexp(float(mantissa), -24);
    return sign ? -value : value;
  }
  uint32_t wide = exponent == 31
                      ? sign | 0x7f800000 | mantissa << 13
                      : sign | (exponent + 112) << 23 | mantissa << 13;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

uint16_t floatToHalf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  uint32_t sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00;
  if (magnitude >= 0x477ff000) // Rounds to 65536 or more.
    return sign | 0x7c00;
  if (magnitude < 0x38800000) { // Subnormal: round to a multiple of 2^-24.
    float scaled = std::ldexp(std::fabs(value), 24);
    return sign | uint16_t(std::nearbyint(scaled));
  }
  uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return sign | uint16_t((rounded - 0x38000000) >> 13);
}

uint16_t floatToBfloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16) | 0x40;
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

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
