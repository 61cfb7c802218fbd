//===- onnx_copies.h - Initializers that are trained apart -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters make equal initializers one. The import decides which uses get a
// copy of their own; the model that is written after training must have the
// same copies, so both apply the same list to the file's graph. They also make
// two of one: of a table that is the head, too, one is the other transposed.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_ONNX_COPIES_H
#define RUNTIME_FORMATS_ONNX_COPIES_H

#include "runtime/core/status.h"
#include <string>
#include <vector>

namespace dist {

namespace onnx {
class GraphProto;
} // namespace onnx

/// An initializer `name`, a copy of `from`, that one use reads instead.
struct OnnxCopy {
  std::string name, from;
  /// The key of the node that reads it, and which input it is. With `input` -1
  /// an Identity node gave it this name: that node goes. With `kTransposed` it
  /// is an initializer of the main graph, which goes: a node transposes `from`.
  std::string node;
  int input = -1;
  static constexpr int kTransposed = -2;
};

/// Adds the copies to the graph (each to that which has what it is of) and lets
/// their nodes read them. `where` names the model in errors.
Status addOnnxCopies(const std::vector<OnnxCopy> &copies,
                     const std::string &where, onnx::GraphProto *graph);

} // namespace dist

#endif // RUNTIME_FORMATS_ONNX_COPIES_H
