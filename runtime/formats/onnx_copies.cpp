//===- onnx_copies.cpp - Initializers that are trained apart --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/onnx_copies.h"
#include "runtime/formats/onnx.pb.h"
#include <map>

using namespace dist;

void dist::addOnnxCopies(const std::vector<OnnxCopy> &copies,
                         onnx::GraphProto *graph) {
  if (copies.empty())
    return;
  // Messages live on while others are added: the repeated field keeps pointers.
  std::map<std::string, const onnx::TensorProto *> initializers;
  for (const onnx::TensorProto &tensor : graph->initializer())
    initializers[tensor.name()] = &tensor;
  std::map<std::string, const onnx::ValueInfoProto *> inputs;
  for (const onnx::ValueInfoProto &input : graph->input())
    inputs[input.name()] = &input;
  std::map<std::string, onnx::NodeProto *> nodes;
  for (onnx::NodeProto &node : *graph->mutable_node())
    if (node.output_size() > 0)
      nodes[node.output(0)] = &node;
  std::map<const onnx::NodeProto *, bool> removed;
  for (const OnnxCopy &copy : copies) {
    auto from = initializers.find(copy.from);
    auto node = nodes.find(copy.node);
    if (from == initializers.end() || node == nodes.end() ||
        copy.input >= node->second->input_size())
      continue;
    // Several uses may read one copy.
    if (initializers.count(copy.name) == 0) {
      onnx::TensorProto *tensor = graph->add_initializer();
      *tensor = *from->second;
      tensor->set_name(copy.name);
      initializers[copy.name] = tensor;
      // Before IR version 4 an initializer is an input, too.
      if (auto input = inputs.find(copy.from); input != inputs.end()) {
        onnx::ValueInfoProto *added = graph->add_input();
        *added = *input->second;
        added->set_name(copy.name);
        inputs[copy.name] = added;
      }
    }
    if (copy.input < 0)
      removed[node->second] = true;
    else
      node->second->set_input(copy.input, copy.name);
  }
  auto *all = graph->mutable_node();
  for (int i = all->size() - 1; i >= 0; --i)
    if (removed.count(&all->Get(i)))
      all->DeleteSubrange(i, 1);
}
