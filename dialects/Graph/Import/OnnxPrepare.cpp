//===- OnnxPrepare.cpp - An ONNX graph before it is imported --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which outputs are asked for, what they need of nodes, and an order in which
// each node comes after those that it reads: files need not have it.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxModel.h"
#include <queue>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// The names that a node reads, those of its branches among them.
static void forEachRead(const onnx::NodeProto &node,
                        llvm::function_ref<void(const std::string &)> visit) {
  for (const std::string &input : node.input())
    if (!input.empty())
      visit(input);
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (!attribute.has_g())
      continue;
    for (const onnx::NodeProto &inner : attribute.g().node())
      forEachRead(inner, visit);
    for (const onnx::ValueInfoProto &output : attribute.g().output())
      visit(output.name());
  }
}

/// Nodes by what they read, otherwise as in the file. Those of a cycle keep
/// their places at the end, where the import names what is missing.
void OnnxModel::sortNodes() {
  auto *nodes = model.mutable_graph()->mutable_node();
  int count = nodes->size();
  llvm::StringMap<int> maker;
  for (int i = 0; i < count; ++i)
    for (const std::string &output : nodes->Get(i).output())
      if (!output.empty())
        maker.try_emplace(output, i);
  std::vector<std::vector<int>> readers(count);
  std::vector<int> missing(count, 0);
  bool sorted = true;
  for (int i = 0; i < count; ++i) {
    llvm::SmallDenseSet<int> needed;
    forEachRead(nodes->Get(i), [&](const std::string &name) {
      auto it = maker.find(name);
      if (it != maker.end())
        needed.insert(it->second);
    });
    for (int from : needed) {
      sorted &= from < i;
      readers[from].push_back(i);
    }
    missing[i] = needed.size();
  }
  if (sorted)
    return;
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < count; ++i)
    if (missing[i] == 0)
      ready.push(i);
  std::vector<int> order;
  std::vector<bool> done(count, false);
  while (!ready.empty()) {
    int next = ready.top();
    ready.pop();
    order.push_back(next);
    done[next] = true;
    for (int reader : readers[next])
      if (--missing[reader] == 0)
        ready.push(reader);
  }
  for (int i = 0; i < count; ++i)
    if (!done[i])
      order.push_back(i);
  google::protobuf::RepeatedPtrField<onnx::NodeProto> fresh;
  fresh.Reserve(count);
  for (int i : order)
    fresh.Add()->Swap(nodes->Mutable(i));
  nodes->Swap(&fresh);
}

/// Leaves the outputs of --outputs, and of inputs and nodes what they need.
LogicalResult OnnxModel::selectOutputs() {
  if (options.outputs.empty())
    return success();
  onnx::GraphProto &graph = *model.mutable_graph();
  llvm::StringMap<const onnx::ValueInfoProto *> declared;
  for (const onnx::ValueInfoProto &output : graph.output())
    declared[output.name()] = &output;
  llvm::StringSet<> computed;
  for (const onnx::NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      computed.insert(output);
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> outputs;
  for (const std::string &name : options.outputs) {
    auto known = declared.find(name);
    if (known == declared.end() && !computed.contains(name)) {
      std::string list;
      for (const onnx::ValueInfoProto &output : graph.output())
        list += (list.empty() ? "'" : ", '") + output.name() + "'";
      return error("bad --outputs '" + name + "'",
                   "the model computes no such value",
                   "its outputs are " + list);
    }
    if (known != declared.end())
      *outputs.Add() = *known->second;
    else
      outputs.Add()->set_name(name);
  }
  graph.mutable_output()->Swap(&outputs);
  std::vector<bool> live = findLiveNodes();
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  llvm::StringSet<> read;
  for (const onnx::ValueInfoProto &output : graph.output())
    read.insert(output.name());
  for (int i = 0; i < graph.node_size(); ++i)
    if (live[i]) {
      forEachRead(graph.node(i),
                  [&](const std::string &name) { read.insert(name); });
      nodes.Add()->Swap(graph.mutable_node(i));
    }
  graph.mutable_node()->Swap(&nodes);
  auto *inputs = graph.mutable_input();
  for (int i = inputs->size() - 1; i >= 0; --i)
    if (!read.contains(inputs->Get(i).name()))
      inputs->DeleteSubrange(i, 1);
  return success();
}

std::vector<bool> OnnxModel::findLiveNodes() const {
  llvm::StringSet<> needed;
  for (const onnx::ValueInfoProto &output : model.graph().output())
    needed.insert(output.name());
  std::vector<bool> live(model.graph().node_size());
  for (int i = model.graph().node_size() - 1; i >= 0; --i) {
    const onnx::NodeProto &node = model.graph().node(i);
    for (const std::string &output : node.output())
      live[i] = live[i] || (!output.empty() && needed.count(output));
    if (live[i])
      forEachRead(node, [&](const std::string &name) { needed.insert(name); });
  }
  return live;
}

static void dropOutputs(onnx::GraphProto &graph,
                        const llvm::StringSet<> &read) {
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    const std::string key = ::dist::keyOfOnnxNode(node);
    for (int i = 1; i < node.output_size(); ++i)
      if (node.output(i) != key && !read.contains(node.output(i)))
        node.mutable_output(i)->clear();
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        dropOutputs(*attribute.mutable_g(), read);
  }
}

/// Outputs that nobody reads are not asked for: some change what a node does
/// (a batch norm's, of training mode). The first that is given stays, by which
/// nodes are found again.
void OnnxModel::dropUnreadOutputs() {
  std::vector<bool> live = findLiveNodes();
  llvm::StringSet<> read;
  for (const onnx::ValueInfoProto &output : model.graph().output())
    read.insert(output.name());
  for (int i = 0; i < model.graph().node_size(); ++i)
    if (live[i])
      forEachRead(model.graph().node(i),
                  [&](const std::string &name) { read.insert(name); });
  dropOutputs(*model.mutable_graph(), read);
}

/// The nodes of the branch that a constant condition chooses, in the place of
/// the node; what the other branch computes is never asked for.
LogicalResult OnnxModel::importIf(const onnx::NodeProto &node) {
  begin(node, opsetOf(node), locOf(node.name()), {});
  failedNode = &node;
  const onnx::GraphProto *branches[2] = {nullptr, nullptr};
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.has_g())
      branches[attribute.name() == "then_branch"] = &attribute.g();
  if (node.input_size() != 1 || !branches[0] || !branches[1])
    return fail("it needs a condition and two branches");
  Value condition = lookup(node.input(0));
  if (!condition)
    return failure();
  BlockArgument argument;
  FailureOr<HostTensor> value = evaluate(condition, &argument);
  if (failed(value) && argument && argument == condition)
    return fail("needs the value of input '" + node.input(0) +
                    "' at compile time, as control flow is not supported",
                "give --bind " + node.input(0) + "=FILE");
  if (failed(value) || value->getNumElements() != 1)
    return fail("its condition depends on data, and control flow is not "
                "supported",
                "resolve the branch before the export (in PyTorch trace the "
                "module instead of scripting it)");
  const onnx::GraphProto &chosen = *branches[value->getInt(0) != 0];
  if (chosen.output_size() < node.output_size())
    return fail("a branch has fewer outputs than the node");
  if (flowDepth > 64)
    return fail("branches are nested too deeply");
  ++flowDepth;
  LogicalResult good = success();
  for (const onnx::NodeProto &inner : chosen.node())
    if (failed(good = importAny(inner)))
      break;
  --flowDepth;
  if (failed(good))
    return failure();
  begin(node, opsetOf(node), locOf(node.name()), {});
  failedNode = &node;
  for (int i = 0; i < node.output_size(); ++i) {
    Value result = lookup(chosen.output(i).name());
    if (!result)
      return failure();
    values[node.output(i)] = result;
    if (auto places = placesOf.find(chosen.output(i).name());
        places != placesOf.end())
      placesOf[node.output(i)] = std::set<unsigned>(places->second);
  }
  return success();
}

LogicalResult OnnxModel::importAny(const onnx::NodeProto &node) {
  bool standard = node.domain().empty() || node.domain() == "ai.onnx";
  if (standard && node.op_type() == "If")
    return importIf(node);
  failedNode = &node;
  return importNode(node);
}
