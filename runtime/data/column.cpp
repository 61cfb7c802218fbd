//===- column.cpp - Examples as they enter a program -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/dataset.h"
#include "runtime/formats/convert.h"
#include <cstring>

namespace dist {

bool Column::direct() const {
  return !stored && array.type == type && preprocessing.plain() &&
         !transposed &&
         reinterpret_cast<uintptr_t>(array.data) % byteSize(type) == 0;
}

namespace {

/// Converts one example with numbers of double precision: correctly rounded
/// for f32 whatever the numbers are.
void convertGeneral(const Column &c, const char *in, std::vector<double> &wide,
                    char *out) {
  int64_t n = c.exampleElements();
  wide.resize(2 * n);
  convertElements(c.array.type, in, manifest::F64, wide.data(), n);
  const Preprocessing &p = c.preprocessing;
  for (int64_t i = 0; i < n; ++i) {
    double value = wide[i];
    if (p.scaleTop != 1 || p.scaleBottom != 1)
      value = value * p.scaleTop / p.scaleBottom;
    size_t channel = i / c.channelStride % c.channelCount;
    if (!p.mean.empty())
      value -= p.mean[p.mean.size() == 1 ? 0 : channel];
    if (!p.std.empty())
      value /= p.std[p.std.size() == 1 ? 0 : channel];
    wide[i] = value;
  }
  const double *values = wide.data();
  if (c.transposed) {
    double *moved = wide.data() + n;
    for (int64_t s = 0; s < c.plane; ++s)
      for (int64_t k = 0; k < c.channels; ++k) {
        int64_t last = s * c.channels + k, first = k * c.plane + s;
        moved[c.toChannelsLast ? last : first] =
            wide[c.toChannelsLast ? first : last];
      }
    values = moved;
  }
  convertElements(manifest::F64, values, c.type, out, n);
}

} // namespace

void Column::readStored(const int64_t *indices, int64_t count,
                        std::string *out) const {
  out->resize(byteSize(array.type) * size_t(exampleElements() * count));
  std::vector<int64_t> numbers(indices, indices + count);
  for (int64_t &number : numbers)
    number += firstStored;
  stored->read(numbers.data(), count, out->data());
}

void Column::gather(const int64_t *indices, int64_t count, char *out) const {
  int64_t n = exampleElements();
  size_t fileBytes = byteSize(array.type) * size_t(n), bytes = exampleBytes();
  bool same = array.type == type && preprocessing.plain() && !transposed;
  // Bytes to f32 by a table: the usual images.
  bool table = array.type == manifest::U8 && type == manifest::F32 &&
               preprocessing.mean.size() <= 1 &&
               preprocessing.std.size() <= 1 && !transposed;
  float values[256];
  if (table)
    for (int i = 0; i < 256; ++i) {
      double value = i * preprocessing.scaleTop / preprocessing.scaleBottom;
      if (!preprocessing.mean.empty())
        value -= preprocessing.mean[0];
      if (!preprocessing.std.empty())
        value /= preprocessing.std[0];
      values[i] = float(value);
    }
  std::vector<double> wide;
  std::string decoded;
  if (stored)
    readStored(indices, count, &decoded);
  for (int64_t k = 0; k < count; ++k, out += bytes) {
    const char *in = stored ? decoded.data() + fileBytes * size_t(k)
                            : array.data + fileBytes * size_t(indices[k]);
    if (same) {
      std::memcpy(out, in, bytes);
    } else if (table) {
      float *row = reinterpret_cast<float *>(out);
      for (int64_t i = 0; i < n; ++i)
        row[i] = values[static_cast<unsigned char>(in[i])];
    } else if (preprocessing.plain() && !transposed) {
      convertElements(array.type, in, type, out, n);
    } else {
      convertGeneral(*this, in, wide, out);
    }
  }
}

} // namespace dist
