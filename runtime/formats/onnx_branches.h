//===- onnx_branches.h - The graphs within an ONNX graph -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Branches of If nodes (and bodies of loops) are graphs in attributes, with
// initializers of their own. The import takes them for the model's, and the
// model that is written after training must fill the same ones.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_ONNX_BRANCHES_H
#define RUNTIME_FORMATS_ONNX_BRANCHES_H

#include <functional>
#include <string>

namespace dist {

namespace onnx {
class GraphProto;
class NodeProto;
class TensorProto;
} // namespace onnx

/// Visits the graph, and then those in its nodes' attributes.
void forEachOnnxGraph(onnx::GraphProto *graph,
                      const std::function<void(onnx::GraphProto *)> &visit);

/// The name by which a node is known: that of its first output that it gives
/// (recurrent layers often give their second only).
const std::string &keyOfOnnxNode(const onnx::NodeProto &node);

/// The tensor of a Constant node that gives one; null: it is none.
onnx::TensorProto *findOnnxConstant(onnx::NodeProto *node);

/// Makes initializers of Constant nodes whose results `wanted` says, in the
/// graph and its branches. A graph's own outputs stay computed.
void liftOnnxConstants(
    onnx::GraphProto *graph,
    const std::function<bool(const std::string &name)> &wanted);

/// Gives the values of branches names that no other branch has: each is a scope
/// of its own in the file. Names of the graph itself stay, and so does the
/// first branch's; the same file gets the same names each time.
void nameOnnxBranchesApart(onnx::GraphProto *graph);

} // namespace dist

#endif // RUNTIME_FORMATS_ONNX_BRANCHES_H
