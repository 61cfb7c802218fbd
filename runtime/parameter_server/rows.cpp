//===- rows.cpp - Numbers of rows in letters ------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/rows.h"
#include <algorithm>
#include <cstring>

namespace dist::ps {

void writeNumbers(const std::vector<int64_t> &numbers, Buffer *out) {
  const int64_t count = int64_t(numbers.size());
  size_t at = out->size();
  out->resize(at + sizeof count * (1 + numbers.size()));
  std::memcpy(out->data() + at, &count, sizeof count);
  if (count > 0)
    std::memcpy(out->data() + at + sizeof count, numbers.data(),
                sizeof count * numbers.size());
}

bool readNumbers(const char **bytes, const char *end, int64_t rows,
                 int64_t most, std::vector<int64_t> *out) {
  int64_t count = 0;
  if (end - *bytes < ptrdiff_t(sizeof count))
    return false;
  std::memcpy(&count, *bytes, sizeof count);
  *bytes += sizeof count;
  if (count < 0 || count > most ||
      (end - *bytes) / ptrdiff_t(sizeof count) < count)
    return false;
  out->resize(count);
  if (count > 0)
    std::memcpy(out->data(), *bytes, sizeof count * count);
  *bytes += sizeof count * count;
  int64_t before = -1;
  for (int64_t number : *out) {
    if (number <= before || number >= rows)
      return false;
    before = number;
  }
  return true;
}

void RowFinder::begin() {
  for (int64_t row : found)
    marked[row] = false;
  found.clear();
}

void RowFinder::add(const TensorView &indices) {
  const uint64_t rows = marked.size();
  const int64_t count = elementCount(indices.shape);
  withIntegerType(indices.type, [&](auto zero) {
    const auto *numbers = static_cast<const decltype(zero) *>(indices.data);
    for (int64_t i = 0; i < count; ++i) {
      // Without a sign, what is too far below 0 is above all rows, too.
      uint64_t row = rows + numbers[i];
      if (row >= rows)
        row -= rows;
      if (row >= rows || marked[row])
        continue;
      marked[row] = true;
      found.push_back(int64_t(row));
    }
  });
}

const std::vector<int64_t> &RowFinder::finish() {
  std::sort(found.begin(), found.end());
  return found;
}

} // namespace dist::ps
