//===- parts.h - Where bytes are cut ----------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_SCHEDULE_PARTS_H
#define RUNTIME_COMM_SCHEDULE_PARTS_H

#include <algorithm>
#include <cstdint>
#include <utility>

namespace dist {

/// Packed pieces start where any element may lie.
constexpr int64_t alignPacked(int64_t bytes) { return (bytes + 7) & ~7; }

/// Part `index` of `size` of so many elements, cut at cache lines.
inline std::pair<int64_t, int64_t> partOf(int64_t count, int64_t elementBytes,
                                          int index, int size) {
  int64_t line = std::max<int64_t>(1, 64 / elementBytes);
  int64_t lines = (count + line - 1) / line;
  auto cut = [&](int64_t i) {
    return std::min(count, lines * i / size * line);
  };
  return {cut(index), cut(index + 1)};
}

} // namespace dist

#endif // RUNTIME_COMM_SCHEDULE_PARTS_H
