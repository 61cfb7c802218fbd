//===- problem.cpp - What a kernel should give, and how nearly ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/sweep/problem.h"

namespace dist::sweep {

/// What rounding each step of a plain sum may do, ten times as much as it does
/// in the mean; nothing where the sums are exact.
static double boundOf(const Sum &sum, DataType type, bool exact) {
  if (exact)
    return 0;
  // Both are rounded once more, perhaps to neighbours.
  double step = type == manifest::F32    ? 0x1p-23
                : type == manifest::BF16 ? 0x1p-7
                                         : 0x1p-10;
  double inner =
      0x1p-24 * std::sqrt(sum.squares) * (8 + 4 * std::sqrt(double(sum.terms)));
  return inner * 1.01 + step * (std::fabs(sum.value) + inner) * 1.01 + 1e-30;
}

void fill(Values *values, Random &random, bool exact) {
  for (double &number : values->numbers)
    number = exact ? double(random.between(-8, 8)) / 8
                   : roundTo(values->type, random.real());
}

void finish(Problem *problem, Dims dims, DataType type,
            const std::vector<Sum> &sums, const std::vector<double> *bias,
            int64_t biasStep, bool exact) {
  Values result(std::move(dims), type);
  std::vector<double> bounds;
  for (size_t i = 0; i < sums.size(); ++i) {
    Sum sum = sums[i];
    if (bias)
      sum.add(1, (*bias)[int64_t(i) / biasStep % int64_t(bias->size())]);
    if (problem->spec.relu())
      sum.value = std::max(sum.value, 0.0);
    result.numbers[i] = roundTo(type, sum.value);
    bounds.push_back(boundOf(sum, type, exact));
  }
  problem->results.push_back(std::move(result));
  problem->bounds.push_back(std::move(bounds));
}

} // namespace dist::sweep
