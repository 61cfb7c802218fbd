//===- half.h - Floats of 16 bits -------------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f16 and bf16 as bits, from and to f32. Rounding is to nearest, ties to even;
// a NaN stays one. Inline, since reductions convert each element.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_HALF_H
#define RUNTIME_CORE_HALF_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace dist {

inline float halfToFloat(uint16_t bits) {
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

inline uint16_t floatToHalf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  uint32_t sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00;
  if (magnitude >= 0x477ff000) // Rounds to 65536 or more: infinity.
    return sign | 0x7c00;
  if (magnitude < 0x38800000) { // Subnormal: round to a multiple of 2^-24.
    float scaled = std::ldexp(std::fabs(value), 24);
    return sign | uint16_t(std::nearbyint(scaled));
  }
  uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return sign | uint16_t((rounded - 0x38000000) >> 13);
}

inline float bfloatToFloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

inline uint16_t floatToBfloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  // Rounding could carry a NaN into infinity.
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16) | 0x40;
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

} // namespace dist

#endif // RUNTIME_CORE_HALF_H
