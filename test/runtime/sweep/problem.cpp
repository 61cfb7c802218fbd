//===- problem.cpp - What a kernel should give, and how nearly ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/sweep/problem.h"

namespace dist::sweep {

/// Instructions that multiply bf16 do (GraphBase.td).
static bool readsDenormalsAsZeros(DataType type) {
  return type == manifest::BF16;
}

/// What rounding each step of a plain sum may do, ten times as much as it does
/// in the mean; nothing where the sums are exact.
static double boundOf(const Sum &sum, DataType from, DataType type,
                      Numbers numbers) {
  if (!std::isfinite(sum.value))
    return 0;
  if (readsDenormalsAsZeros(from) && numbers == Numbers::Denormal)
    return std::sqrt(sum.squares) * double(sum.terms) * 1.01;
  if (numbers == Numbers::Exact || numbers == Numbers::Denormal)
    return 0;
  // Both are rounded once more, perhaps to neighbours.
  double step = type == manifest::F32    ? 0x1p-23
                : type == manifest::BF16 ? 0x1p-7
                                         : 0x1p-10;
  double inner =
      0x1p-24 * std::sqrt(sum.squares) * (8 + 4 * std::sqrt(double(sum.terms)));
  return inner * 1.01 + step * (std::fabs(sum.value) + inner) * 1.01 + 1e-30;
}

void fill(Values *values, int input, Random &random, Numbers numbers) {
  bool half = values->type == manifest::F16;
  double scale = 1;
  if (numbers == Numbers::Denormal)
    scale = input == 0   ? (half ? 0x1p-17 : 0x1p-129)
            : input == 1 ? (half ? 0x1p8 : 0x1p100)
                         : (half ? 0x1p-9 : 0x1p-29);
  bool exact = numbers == Numbers::Exact || numbers == Numbers::Denormal;
  for (double &number : values->numbers)
    number = exact ? double(random.between(-8, 8)) / 8 * scale
                   : roundTo(values->type, random.real());
  if (numbers != Numbers::Edges)
    return;
  for (int64_t i = random.between(1, 3); i > 0; --i)
    values->numbers[random.between(0, int64_t(values->numbers.size()) - 1)] =
        random.pick<double>(
            {NAN, INFINITY, -INFINITY, -0.0, half ? 0x1p-24 : 0x1p-133});
}

void finish(Problem *problem, Dims dims, DataType type,
            const std::vector<Sum> &sums, const std::vector<double> *bias,
            int64_t biasStep, Numbers numbers) {
  Values result(std::move(dims), type);
  std::vector<double> bounds;
  for (size_t i = 0; i < sums.size(); ++i) {
    Sum sum = sums[i];
    if (bias)
      sum.add(1, (*bias)[int64_t(i) / biasStep % int64_t(bias->size())]);
    if (problem->spec.relu()) // NaN stays
      sum.value = std::max(sum.value, 0.0);
    result.numbers[i] = roundTo(type, sum.value);
    DataType from = problem->inputs[0].type;
    bounds.push_back(boundOf(sum, from, type, numbers));
    problem->mayBeNan.push_back(readsDenormalsAsZeros(from) &&
                                sum.hasInfiniteDenormal);
  }
  problem->results.push_back(std::move(result));
  problem->bounds.push_back(std::move(bounds));
}

} // namespace dist::sweep
