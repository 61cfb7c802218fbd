//===- onnx_functions.h - Functions of an ONNX model -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model may define ops of its own: exporters that keep the source's modules
// write one function each. Nodes that call one are replaced by what it computes
// before anything else is done with the model, so that the import and the model
// that is written after training see the same nodes.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_ONNX_FUNCTIONS_H
#define RUNTIME_FORMATS_ONNX_FUNCTIONS_H

#include "runtime/core/status.h"
#include <map>
#include <string>

namespace dist {

namespace onnx {
class ModelProto;
} // namespace onnx

/// The function that a node was in, by the node's key (keyOfOnnxNode).
using OnnxFunctionOfNode = std::map<std::string, std::string>;

/// Puts the nodes of functions in the places of those that call them, with
/// names of their own, and drops the functions. A tensor that a function holds
/// (a Constant node) stays one, however often the function is called. `where`
/// names the model in errors. Does nothing to a model without functions.
Status inlineOnnxFunctions(onnx::ModelProto *model, const std::string &where,
                           OnnxFunctionOfNode *functionOf = nullptr);

} // namespace dist

#endif // RUNTIME_FORMATS_ONNX_FUNCTIONS_H
