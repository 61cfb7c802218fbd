//===- CheckText.cpp - What a check found, for users -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/CheckPartition.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::isEqual(const std::vector<FunctionCheck> &checks) {
  return llvm::none_of(checks, [](const FunctionCheck &check) {
    return check.first.has_value();
  });
}

std::string mlir::dist::formatCheck(const std::vector<FunctionCheck> &checks) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const FunctionCheck &check : checks) {
    os << "@" << check.function << ": " << check.comparedOps
       << " values compared, largest difference "
       << llvm::formatv("{0:e2}", check.largestDifference);
    if (!check.largestPlace.empty())
      os << " at '" << check.largestPlace << "'";
    if (check.compressedGradients)
      os << "; " << check.compressedGradients
         << " compressed gradients and what is left of them add up";
    os << "\n";
    if (!check.first)
      continue;
    const Divergence &first = *check.first;
    os << "  diverges first at " << first.op << " of '" << first.place << "': ";
    if (first.copiesDiffer) {
      os << "ranks that should hold copies differ by "
         << llvm::formatv("{0:e2}", first.difference) << "\n";
      continue;
    }
    os << "element [";
    llvm::interleaveComma(first.index, os);
    os << "] is " << llvm::format("%.9g", first.actual) << ", but "
       << llvm::format("%.9g", first.expected)
       << " on one device (relative difference "
       << llvm::formatv("{0:e2}", first.difference) << ")\n";
  }
  return text;
}
