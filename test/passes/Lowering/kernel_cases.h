//===- kernel_cases.h - Functions to compile, run and evaluate -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that are compiled into one package, run, and compared with the
// reference evaluation of the same functions.
//
//===----------------------------------------------------------------------===//
#ifndef TEST_PASSES_LOWERING_KERNEL_CASES_H
#define TEST_PASSES_LOWERING_KERNEL_CASES_H

#include "passes/Lowering/Lowering.h"
#include <string>
#include <vector>

namespace mlir::dist {

struct Case {
  std::string name;
  std::string text; // of the function, named as the case
  double tolerance; // of each element, relative to max(1, |expected|)
};

/// "tensor<SHAPExTYPE>".
std::string tensor(const std::string &shape, const std::string &type);

/// What cases are fed with. Of integers: small ones, but for Edges, which are
/// from the whole range.
enum class Numbers {
  Tame,      // in a range where functions are: 0.1 to 2
  BothSigns, // -1 to 1
  Edges,     // NaN, infinities, zeros, denormals, the largest, and others
  FewEdges,  // BothSigns, and here and there an edge but for denormals and huge
             // ones; in the first argument only
};

/// What a float type's rounding allows for.
double toleranceOf(const std::string &type);

class KernelCases {
public:
  void add(const std::string &what, const std::string &arguments,
           const std::string &result, const std::string &body,
           double tolerance);
  /// Compiles, for 2 threads or more, runs and compares all; a difference is a
  /// failure of the test. With `spreads`, NaN may come where a number was
  /// expected, and for an infinity.
  void check(const LoweringOptions &options = LoweringOptions(),
             Numbers numbers = Numbers::Tame, bool spreads = false);
  /// Instead, the Euclidean norm of each case's difference, relative to that of
  /// what is expected; the inputs are of both signs.
  std::vector<double> measure(const LoweringOptions &options);

private:
  struct Run;
  void compute(const LoweringOptions &options, Numbers numbers,
               llvm::function_ref<void(const Run &)> inspect);

  std::vector<Case> cases;
};

} // namespace mlir::dist

#endif // TEST_PASSES_LOWERING_KERNEL_CASES_H
