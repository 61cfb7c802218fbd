//===- indices.cpp - Integers that count classes or rows ------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/indices.h"
#include <algorithm>
#include <cstring>
#include <type_traits>

namespace dist {

using manifest::Binding;

IntegerRanges indexRanges(const Binding &binding) {
  if (binding.role() == Binding::LABEL) {
    IntegerRange classes = {0, binding.class_count()};
    if (binding.has_ignored_label())
      classes.other = binding.ignored_label();
    return {classes};
  }
  // Negative indices count from the end.
  bool fromEnd = !isUnsigned(binding.global_type().type());
  IntegerRanges ranges;
  for (int64_t count : binding.index_counts())
    ranges.push_back({fromEnd ? -count : 0, count});
  if (ranges.empty())
    ranges.push_back({});
  return ranges;
}

std::string describe(IntegerRange range) {
  return "expected integers from " + std::to_string(range.low) + " to " +
         std::to_string(range.end - 1) +
         (range.other ? ", or " + std::to_string(*range.other) : "");
}

/// Of the elements at `first`, `first` + `step`, ... of `count`.
template <typename T>
static Stray findStray(const void *data, int64_t count, IntegerRange range,
                       int64_t first, int64_t step) {
  if (range.empty())
    return {};
  auto *bytes = static_cast<const char *>(data);
  if (std::is_unsigned_v<T>) {
    range.low = std::max<int64_t>(range.low, 0);
    if (range.other && *range.other < 0)
      range.other.reset();
  }
  // One comparison an element: what lies below wraps around.
  uint64_t size = uint64_t(range.end) - uint64_t(range.low);
  for (int64_t i = first; i < count; i += step) {
    T value; // of a file, where it may be unaligned
    std::memcpy(&value, bytes + i * sizeof value, sizeof value);
    if (uint64_t(value) - uint64_t(range.low) >= size &&
        !(range.other && *range.other == int64_t(value)))
      return {i, std::to_string(value), range};
  }
  return {};
}

Stray findStray(const TensorView &tensor, const IntegerRanges &ranges) {
  Stray stray;
  int64_t count = elementCount(tensor.shape), step = ranges.size();
  withIntegerType(tensor.type, [&](auto zero) {
    for (int64_t first = 0; first < step; ++first) {
      Stray one = findStray<decltype(zero)>(tensor.data, count, ranges[first],
                                            first, step);
      if (one.position >= 0 &&
          (stray.position < 0 || one.position < stray.position))
        stray = one;
    }
  });
  return stray;
}

/// The first in a row that is an example.
static Stray findStray(const TensorView &tensor, const IntegerRanges &ranges,
                       const bool *mask) {
  TensorView row = tensor;
  row.shape[0] = 1;
  int64_t width = elementCount(row.shape);
  for (int64_t i = 0; i < tensor.shape[0]; ++i) {
    row.data = static_cast<const char *>(tensor.data) + i * row.bytes();
    Stray stray = mask[i] ? findStray(row, ranges) : Stray();
    if (stray.position >= 0)
      return {i * width + stray.position, stray.value, stray.range};
  }
  return {};
}

Status checkIndices(const Binding &binding, const TensorView &tensor,
                    const bool *mask) {
  IntegerRanges ranges = indexRanges(binding);
  bool masked = mask && binding.batch_dim() == 0 && !tensor.shape.empty();
  Stray stray =
      masked ? findStray(tensor, ranges, mask) : findStray(tensor, ranges);
  if (stray.position < 0)
    return Status();
  std::string place;
  int64_t at = stray.position;
  for (size_t d = tensor.shape.size(); d-- > 0; at /= tensor.shape[d])
    place = std::to_string(at % tensor.shape[d]) +
            (place.empty() ? "" : ", " + place);
  bool label = binding.role() == Binding::LABEL;
  return Status::error(
      StatusCode::InvalidInput,
      label ? "a label is no class of the model" : "an index is out of range",
      binding.name() + "[" + place + "]",
      "it is " + stray.value + ", " + describe(stray.range),
      label ? "check the labels and the model's number of classes"
            : "check how the input was numbered against the size of the "
              "model's table");
}

} // namespace dist
