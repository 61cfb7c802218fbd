//===- OnnxRoot.h - Roots as norms have them -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of powers is 0 only where all that was summed is: the derivative of its
// root is infinite there, and that of each power 0. A norm's derivative is 0.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IMPORT_ONNXROOT_H
#define DIALECTS_GRAPH_IMPORT_ONNXROOT_H

#include "dialects/Graph/Import/OnnxNode.h"

namespace mlir::dist::graph {

/// All three give null of null, as an error has it.
Value isZero(OnnxNode &n, Value x);
/// x, but 1 where x is 0.
Value replaceZeros(OnnxNode &n, Value x);

/// sum^(1/p), p >= 1; its derivative at 0 is 0 (PyTorch's norm_backward).
Value rootOfSum(OnnxNode &n, Value sum, double p);
/// 16-bit floats as f32, of whose squares and sums few fit into 16 bits, though
/// what is made of these may; other types as they are.
Value widen(OnnxNode &n, Value x);

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IMPORT_ONNXROOT_H
