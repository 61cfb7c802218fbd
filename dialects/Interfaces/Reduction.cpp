//===- Reduction.cpp - How elements combine ---------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/Reduction.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"
#include <cmath>

#include "dialects/Interfaces/Reduction.cpp.inc"

using namespace mlir;
using namespace mlir::dist;

double mlir::dist::combine(Reduction reduction, double x, double y) {
  bool isNan = std::isnan(x) || std::isnan(y);
  switch (reduction) {
  case Reduction::Sum:
    return x + y;
  case Reduction::Product:
    return x * y;
  case Reduction::Max:
    return isNan ? NAN : std::fmax(x, y);
  case Reduction::Min:
    return isNan ? NAN : std::fmin(x, y);
  }
  llvm_unreachable("all reductions are listed");
}

int64_t mlir::dist::combine(Reduction reduction, int64_t x, int64_t y,
                            bool isUnsigned) {
  bool less = isUnsigned ? uint64_t(x) < uint64_t(y) : x < y;
  switch (reduction) {
  case Reduction::Sum:
    return int64_t(uint64_t(x) + uint64_t(y));
  case Reduction::Product:
    return int64_t(uint64_t(x) * uint64_t(y));
  case Reduction::Max:
    return less ? y : x;
  case Reduction::Min:
    return less ? x : y;
  }
  llvm_unreachable("all reductions are listed");
}
