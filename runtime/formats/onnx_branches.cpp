//===- onnx_branches.cpp - The graphs within an ONNX graph ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/onnx_branches.h"
#include "runtime/formats/onnx.pb.h"
#include <map>
#include <set>
#include <string>

using namespace dist;

/// The graphs in a node's attributes.
static void
forEachBranch(onnx::NodeProto *node,
              const std::function<void(onnx::GraphProto *)> &visit) {
  for (onnx::AttributeProto &attribute : *node->mutable_attribute())
    if (attribute.has_g())
      visit(attribute.mutable_g());
}

void dist::forEachOnnxGraph(
    onnx::GraphProto *graph,
    const std::function<void(onnx::GraphProto *)> &visit) {
  visit(graph);
  for (onnx::NodeProto &node : *graph->mutable_node())
    forEachBranch(&node, [&](onnx::GraphProto *branch) {
      forEachOnnxGraph(branch, visit);
    });
}

const std::string &dist::keyOfOnnxNode(const onnx::NodeProto &node) {
  for (const std::string &output : node.output())
    if (!output.empty())
      return output;
  return node.name();
}

onnx::TensorProto *dist::findOnnxConstant(onnx::NodeProto *node) {
  if (node->op_type() != "Constant" || node->output_size() != 1 ||
      (!node->domain().empty() && node->domain() != "ai.onnx"))
    return nullptr;
  for (onnx::AttributeProto &attribute : *node->mutable_attribute())
    if (attribute.name() == "value" && attribute.has_t())
      return attribute.mutable_t();
  return nullptr;
}

void dist::liftOnnxConstants(
    onnx::GraphProto *graph,
    const std::function<bool(const std::string &name)> &wanted) {
  forEachOnnxGraph(graph, [&](onnx::GraphProto *one) {
    std::set<std::string> outputs;
    for (const onnx::ValueInfoProto &output : one->output())
      outputs.insert(output.name());
    google::protobuf::RepeatedPtrField<onnx::NodeProto> rest;
    for (onnx::NodeProto &node : *one->mutable_node()) {
      onnx::TensorProto *tensor = findOnnxConstant(&node);
      if (tensor && !outputs.count(node.output(0)) && wanted(node.output(0))) {
        tensor->set_name(node.output(0));
        one->add_initializer()->Swap(tensor);
      } else {
        rest.Add()->Swap(&node);
      }
    }
    one->mutable_node()->Swap(&rest);
  });
}

namespace {
/// Renames what branches define; `scope` are the names that have changed.
class Namer {
public:
  using Scope = std::map<std::string, std::string>;

  void enter(onnx::GraphProto *graph, Scope scope, bool isBranch);

private:
  std::set<std::string> taken;
  /// How often a name came again.
  std::map<std::string, unsigned> repeats;
};
} // namespace

void Namer::enter(onnx::GraphProto *graph, Scope scope, bool isBranch) {
  std::set<std::string> own;
  auto define = [&](std::string *name) {
    if (name->empty() || !own.insert(*name).second)
      return;
    scope.erase(*name); // of an outer graph, hidden from here on
    if (taken.insert(*name).second || !isBranch)
      return;
    std::string fresh;
    do
      fresh = *name + "." + std::to_string(1 + ++repeats[*name]);
    while (!taken.insert(fresh).second);
    scope[*name] = fresh;
  };
  auto use = [&](std::string *name) {
    if (auto found = scope.find(*name); found != scope.end())
      *name = found->second;
  };
  // All names before all uses: files need not be in order.
  for (onnx::ValueInfoProto &input : *graph->mutable_input())
    define(input.mutable_name());
  for (onnx::TensorProto &tensor : *graph->mutable_initializer())
    define(tensor.mutable_name());
  for (onnx::SparseTensorProto &tensor : *graph->mutable_sparse_initializer())
    define(tensor.mutable_values()->mutable_name());
  for (onnx::NodeProto &node : *graph->mutable_node())
    for (std::string &output : *node.mutable_output())
      define(&output);
  for (onnx::ValueInfoProto &input : *graph->mutable_input())
    use(input.mutable_name());
  for (onnx::TensorProto &tensor : *graph->mutable_initializer())
    use(tensor.mutable_name());
  for (onnx::SparseTensorProto &tensor : *graph->mutable_sparse_initializer())
    use(tensor.mutable_values()->mutable_name());
  for (onnx::NodeProto &node : *graph->mutable_node()) {
    for (std::string &input : *node.mutable_input())
      use(&input);
    for (std::string &output : *node.mutable_output())
      use(&output);
  }
  for (onnx::ValueInfoProto &output : *graph->mutable_output())
    use(output.mutable_name());
  for (onnx::ValueInfoProto &info : *graph->mutable_value_info())
    use(info.mutable_name());
  for (onnx::NodeProto &node : *graph->mutable_node())
    forEachBranch(&node, [&](onnx::GraphProto *branch) {
      enter(branch, scope, /*isBranch=*/true);
    });
}

void dist::nameOnnxBranchesApart(onnx::GraphProto *graph) {
  Namer().enter(graph, {}, /*isBranch=*/false);
}
