//===- tensor.h - Tensors of library kernels under guard --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SWEEP_TENSOR_H
#define TEST_RUNTIME_SWEEP_TENSOR_H

#include "runtime/core/types.h"
#include "runtime/device/cpu/library_kernel.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace dist::sweep {

using Spec = manifest::LibraryKernel;
using Dims = std::vector<int64_t>;

inline std::string text(const Dims &dims) {
  std::string result;
  for (int64_t dim : dims)
    result += (result.empty() ? "" : "x") + std::to_string(dim);
  return result;
}

/// The nearest number of the type, the even one of two.
inline double roundTo(DataType type, double value) {
  if (type == manifest::F32)
    return static_cast<float>(value);
  if (value == 0 || !std::isfinite(value))
    return value;
  int digits = type == manifest::F16 ? 11 : 8, exponent;
  std::frexp(value, &exponent);
  exponent = std::max(exponent, type == manifest::F16 ? -13 : -125);
  double unit = std::ldexp(1.0, exponent - digits);
  double rounded = std::nearbyint(value / unit) * unit;
  return type == manifest::F16 && std::fabs(rounded) > 65504
             ? std::copysign(INFINITY, value)
             : rounded;
}

/// Of a number that the type has, NaN and infinities too.
inline void encode(DataType type, double value, char *to) {
  float single = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &single, 4);
  if (type == manifest::F32) {
    std::memcpy(to, &bits, 4);
    return;
  }
  uint16_t half = bits >> 16; // of bf16
  if (type == manifest::F16 && !std::isfinite(value)) {
    half = (bits >> 31) << 15 | 0x7c00 | (std::isnan(value) ? 0x200 : 0);
  } else if (type == manifest::F16) {
    int exponent;
    double part = std::frexp(std::fabs(value), &exponent);
    if (value == 0)
      half = 0;
    else if (exponent < -13)
      half = std::lround(std::ldexp(std::fabs(value), 24));
    else
      half = ((exponent + 14) << 10) + std::lround((part * 2 - 1) * 1024);
    half |= (bits >> 31) << 15;
  }
  std::memcpy(to, &half, 2);
}

inline double decode(DataType type, const char *from) {
  if (type == manifest::F32) {
    float value;
    std::memcpy(&value, from, 4);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, from, 2);
  if (type == manifest::BF16) {
    uint32_t bits = uint32_t(half) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  int exponent = half >> 10 & 31, part = half & 1023;
  double value = exponent == 31 ? (part ? NAN : INFINITY)
                 : exponent     ? std::ldexp(1024 + part, exponent - 25)
                                : std::ldexp(part, -24);
  return half >> 15 ? -value : value;
}

/// Bytes between zones that nobody may write.
class Guarded {
public:
  explicit Guarded(int64_t bytes, char fill = 0x55)
      : bytes(bytes), all(bytes + 2 * zone, guard) {
    std::fill_n(data(), bytes, fill);
  }
  char *data() { return all.data() + zone; }
  const char *data() const { return all.data() + zone; }
  /// Where it was written, in words; empty if nowhere.
  std::string inspect(const std::string &name) const {
    for (int64_t i = 0; i < int64_t(all.size()); ++i)
      if (all[i] != guard && (i < zone || i >= zone + bytes))
        return name + " was written at byte " + std::to_string(i - zone) +
               " of " + std::to_string(bytes);
    return "";
  }

private:
  static constexpr int64_t zone = 8192;
  static constexpr char guard = 0x6d;
  int64_t bytes;
  Buffer all;
};

/// Values in row-major order; in memory they lie by strides.
struct Values {
  Dims dims;
  DataType type;
  std::vector<double> numbers;

  Values(Dims sizes, DataType type) : dims(std::move(sizes)), type(type) {
    int64_t count = 1;
    for (int64_t dim : dims)
      count *= dim;
    numbers.resize(count);
  }
  /// visit(number, place in elements).
  template <typename Visit> void each(const Dims &strides, Visit visit) {
    Dims index(dims.size(), 0);
    for (double &number : numbers) {
      int64_t place = 0;
      for (size_t d = 0; d < dims.size(); ++d)
        place += index[d] * strides[d];
      visit(number, place);
      for (size_t d = dims.size(); d-- > 0;) {
        if (++index[d] < dims[d])
          break;
        index[d] = 0;
      }
    }
  }
  void store(const Dims &strides, char *to) {
    each(strides, [&](double number, int64_t place) {
      encode(type, number, to + place * byteSize(type));
    });
  }
  void load(const Dims &strides, const char *from) {
    each(strides, [&](double &number, int64_t place) {
      number = decode(type, from + place * byteSize(type));
    });
  }
};

inline void addMemory(Spec *spec, const Dims &dims, DataType type,
                      const Dims &strides) {
  Spec::Memory *memory = spec->add_memories();
  memory->set_type(type);
  memory->mutable_dims()->Add(dims.begin(), dims.end());
  memory->mutable_strides()->Add(strides.begin(), strides.end());
}

/// Strides of the dims where they lie in this order.
inline Dims stridesIn(const Dims &order, const Dims &dims) {
  Dims strides(dims.size(), 1);
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= dims[order[i]];
  }
  return strides;
}

} // namespace dist::sweep

#endif // TEST_RUNTIME_SWEEP_TENSOR_H
