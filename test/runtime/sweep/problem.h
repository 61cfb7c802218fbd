//===- problem.h - Random kernels with what they should give ----*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_SWEEP_PROBLEM_H
#define TEST_RUNTIME_SWEEP_PROBLEM_H

#include "test/runtime/sweep/random.h"
#include "test/runtime/sweep/tensor.h"
#include <functional>

namespace dist::sweep {

/// What the inputs hold, and how near results must be.
enum class Numbers {
  Exact,    // sums of products are, in any order
  Real,     // anything; as near as sums of f32 are
  Edges,    // the same, with a few NaN, infinities, -0 and denormals
  Denormal, // the first input's are all; sums of products are exact
};

/// A kernel with what it reads and should write. `bounds` is how far each
/// result may be off.
struct Problem {
  Spec spec;
  int threads = 1;
  std::vector<Values> inputs; // in the order of the memories
  std::vector<Values> results;
  std::vector<std::vector<double>> bounds;
  /// Where the only result may be NaN as well.
  std::vector<bool> mayBeNan;
  /// Plain strides of each memory, also of one that the library packs.
  std::vector<Dims> strides;
  std::string what;
};

/// The sum of products so far, and of their squares.
struct Sum {
  double value = 0, squares = 0;
  int64_t terms = 0;
  /// An infinity met a denormal of f32 and bf16, which some read as zero.
  bool hasInfiniteDenormal = false;
  void add(double a, double b) {
    auto isDenormal = [](double x) {
      return x != 0 && std::fabs(x) < 0x1p-126;
    };
    hasInfiniteDenormal |=
        (std::isinf(a) && isDenormal(b)) || (std::isinf(b) && isDenormal(a));
    value += a * b;
    squares += a * a * b * b;
    ++terms;
  }
};

/// Random numbers for input number `input`: the last one is the bias.
void fill(Values *values, int input, Random &random, Numbers numbers);

/// Adds a result: the sums, with a bias for each `biasStep` of them, and relu
/// where the kernel has it.
void finish(Problem *problem, Dims dims, DataType type,
            const std::vector<Sum> &sums, const std::vector<double> *bias,
            int64_t biasStep, Numbers numbers);

/// A problem of the kind that `problem->spec` has. What it should give is
/// computed by the function that comes back: only if the library has it.
std::function<void()> makeConvolution(Problem *problem, Random &random,
                                      DataType type, Numbers numbers);
std::function<void()> makeProduct(Problem *problem, Random &random,
                                  DataType type, Numbers numbers);

} // namespace dist::sweep

#endif // TEST_RUNTIME_SWEEP_PROBLEM_H
