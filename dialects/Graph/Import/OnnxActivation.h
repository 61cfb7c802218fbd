//===- OnnxActivation.h - Activation functions of ONNX by name -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recurrent nodes name the functions of their gates; they are the same ones
// that have nodes of their own.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IMPORT_ONNXACTIVATION_H
#define DIALECTS_GRAPH_IMPORT_ONNXACTIVATION_H

#include "dialects/Graph/Import/OnnxNode.h"

namespace mlir::dist::graph {

/// An element-wise function of at most two numbers.
struct OnnxActivation {
  const char *name;
  /// How many of alpha and beta it has.
  unsigned numNumbers;
  /// What they are when not given; none: they must be.
  std::optional<double> alpha, beta;
  Value (*make)(OnnxNode &n, Value x, double alpha, double beta);
};

/// The function of that name, in any case; null: there is none.
const OnnxActivation *findOnnxActivation(StringRef name);

/// x within [low, high].
Value clampTo(OnnxNode &n, Value x, double low, double high);

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IMPORT_ONNXACTIVATION_H
