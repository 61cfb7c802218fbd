//===- onnx_copies.cpp - Initializers that are trained apart --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/onnx_copies.h"
#include "runtime/formats/onnx_branches.h"
#include "runtime/formats/onnx.pb.h"
#include <map>
#include <set>

using namespace dist;

namespace {
/// Something, and the graph that has it: the model's or a branch's.
template <typename T> struct Placed {
  T *it = nullptr;
  onnx::GraphProto *graph = nullptr;
};
} // namespace

/// Lets a node in front of all others transpose `from` to what `name` was.
static Status transposeInstead(const OnnxCopy &copy, const std::string &where,
                               onnx::GraphProto *graph) {
  auto *all = graph->mutable_initializer();
  int found = -1;
  bool known = false;
  for (int i = 0; i < all->size(); ++i) {
    known |= all->Get(i).name() == copy.from;
    if (all->Get(i).name() == copy.name)
      found = i;
  }
  if (found < 0 || !known)
    return Status::error(
        StatusCode::InvalidInput, "cannot train two initializers as one", where,
        "the model has no '" + copy.name + "' and '" + copy.from + "'",
        "give --untie '^" + copy.name + "$'");
  all->DeleteSubrange(found, 1);
  onnx::NodeProto *node = graph->add_node();
  node->set_op_type("Transpose");
  node->set_name(copy.name);
  node->add_input(copy.from);
  node->add_output(copy.name);
  onnx::AttributeProto *order = node->add_attribute();
  order->set_name("perm");
  order->set_type(7); // INTS
  order->add_ints(1);
  order->add_ints(0);
  for (int i = graph->node_size() - 1; i > 0; --i)
    graph->mutable_node()->SwapElements(i, i - 1);
  return {};
}

Status dist::addOnnxCopies(const std::vector<OnnxCopy> &copies,
                           const std::string &where, onnx::GraphProto *graph) {
  if (copies.empty())
    return {};
  // Messages live on while others are added: the repeated field keeps pointers.
  std::map<std::string, Placed<onnx::TensorProto>> initializers;
  std::map<std::string, Placed<onnx::NodeProto>> nodes;
  forEachOnnxGraph(graph, [&](onnx::GraphProto *one) {
    for (onnx::TensorProto &tensor : *one->mutable_initializer())
      initializers.try_emplace(tensor.name(),
                               Placed<onnx::TensorProto>{&tensor, one});
    for (onnx::NodeProto &node : *one->mutable_node())
      nodes.try_emplace(keyOfOnnxNode(node),
                        Placed<onnx::NodeProto>{&node, one});
  });
  std::map<std::string, const onnx::ValueInfoProto *> inputs;
  for (const onnx::ValueInfoProto &input : graph->input())
    inputs[input.name()] = &input;
  std::set<const onnx::NodeProto *> removed;
  for (const OnnxCopy &copy : copies) {
    if (copy.input == OnnxCopy::kTransposed)
      continue;
    auto from = initializers.find(copy.from);
    auto node = nodes.find(copy.node);
    if (from == initializers.end() || node == nodes.end() ||
        copy.input >= node->second.it->input_size())
      return Status::error(StatusCode::InvalidInput,
                           "cannot train uses of an initializer apart", where,
                           "the model has no node '" + copy.node +
                               "' that reads '" + copy.from +
                               "' of its (dense) initializers",
                           "leave it out of --untie");
    // Several uses may read one copy.
    if (initializers.count(copy.name) == 0) {
      onnx::TensorProto *tensor = from->second.graph->add_initializer();
      *tensor = *from->second.it;
      tensor->set_name(copy.name);
      initializers[copy.name] = {tensor, from->second.graph};
      // Before IR version 4 an initializer is an input, too.
      if (auto input = inputs.find(copy.from); input != inputs.end()) {
        onnx::ValueInfoProto *added = graph->add_input();
        *added = *input->second;
        added->set_name(copy.name);
        inputs[copy.name] = added;
      }
    }
    if (copy.input < 0)
      removed.insert(node->second.it);
    else
      node->second.it->set_input(copy.input, copy.name);
  }
  forEachOnnxGraph(graph, [&](onnx::GraphProto *one) {
    auto *all = one->mutable_node();
    for (int i = all->size() - 1; i >= 0; --i)
      if (removed.count(&all->Get(i)))
        all->DeleteSubrange(i, 1);
  });
  for (const OnnxCopy &copy : copies)
    if (copy.input == OnnxCopy::kTransposed)
      DIST_RETURN_IF_ERROR(transposeInstead(copy, where, graph));
  return {};
}
