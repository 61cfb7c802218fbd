//===- rows.h - Numbers of rows in letters ----------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_PARAMETER_SERVER_ROWS_H
#define RUNTIME_PARAMETER_SERVER_ROWS_H

#include "runtime/core/types.h"

namespace dist::ps {

/// In a letter: how many, then each.
void writeNumbers(const std::vector<int64_t> &numbers, Buffer *out);
/// Takes them from the front of `bytes`. False: that are none: at most `most`,
/// ascending, from 0 and below `rows`.
bool readNumbers(const char **bytes, const char *end, int64_t rows,
                 int64_t most, std::vector<int64_t> *out);

/// The rows of a table that a step looks up.
class RowFinder {
public:
  explicit RowFinder(int64_t rows) : marked(rows) {}
  void begin();
  /// Those that integers number; negative ones count from the end. Numbers of
  /// no row are left to the step, which says where they are.
  void add(const TensorView &indices);
  /// Each once, ascending.
  const std::vector<int64_t> &finish();

private:
  std::vector<bool> marked;
  std::vector<int64_t> found;
};

} // namespace dist::ps

#endif // RUNTIME_PARAMETER_SERVER_ROWS_H
