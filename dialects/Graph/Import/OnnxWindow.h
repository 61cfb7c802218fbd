//===- OnnxWindow.h - Windows of ONNX's convolutions and pools -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_GRAPH_IMPORT_ONNXWINDOW_H
#define DIALECTS_GRAPH_IMPORT_ONNXWINDOW_H

#include "dialects/Graph/Import/OnnxNode.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::dist::graph {

/// One entry a spatial dim. `high` is larger than what the node says where
/// `ceil_mode` adds a window (`extended`), and smaller where the last windows
/// do not fit.
struct OnnxWindow {
  SmallVector<int64_t> sizes, strides, dilations, low, high;
  bool extended = false;
};

/// Reads strides, dilations, pads and auto_pad. All numbers are in range and
/// every window fits.
FailureOr<OnnxWindow> readWindow(OnnxNode &n, ArrayRef<int64_t> input,
                                 ArrayRef<int64_t> sizes, bool ceilMode);

/// The window of the convolution whose input gradient a ConvTranspose is, and
/// the spatial dims of its result.
FailureOr<OnnxWindow> readTransposedWindow(OnnxNode &n, ArrayRef<int64_t> input,
                                           ArrayRef<int64_t> sizes,
                                           SmallVectorImpl<int64_t> *output);

} // namespace mlir::dist::graph

#endif // DIALECTS_GRAPH_IMPORT_ONNXWINDOW_H
