//===- OnnxSequences.cpp - Sequences that are only taken apart ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's exporter (dynamo=True, optimize=False) writes x.split(sizes) as a
// sequence from which each part is taken by its number: a MultiheadAttention
// whose query is not its key has such. It is a Split, where sizes and numbers
// are Constant nodes. Other sequences are refused where they are imported.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxModel.h"
#include "runtime/formats/convert.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// The integers of a Constant node; none if it is another node.
static std::optional<SmallVector<int64_t>>
readIntegers(const onnx::NodeProto *node) {
  if (!node || node->op_type() != "Constant" || node->attribute_size() != 1)
    return std::nullopt;
  const onnx::AttributeProto &attribute = node->attribute(0);
  if (attribute.name() == "value_int")
    return SmallVector<int64_t>{attribute.i()};
  if (attribute.name() == "value_ints")
    return SmallVector<int64_t>(attribute.ints().begin(),
                                attribute.ints().end());
  if (attribute.name() != "value")
    return std::nullopt;
  onnx::TensorProto tensor = attribute.t();
  ::dist::HostArray array;
  if (!::dist::takeOnnxTensor(tensor, nullptr, "Constant", &array).ok() ||
      ::dist::isFloat(array.type))
    return std::nullopt;
  SmallVector<int64_t> values;
  for (int64_t i = 0; i < ::dist::elementCount(array.shape); ++i)
    values.push_back(
        int64_t(::dist::elementAsDouble(array.type, array.data, i)));
  return values;
}

void OnnxModel::takeSequencesApart() {
  for (const onnx::OperatorSetIdProto &set : model.opset_import())
    // Before, a Split has its sizes in an attribute.
    if ((set.domain().empty() || set.domain() == "ai.onnx") &&
        set.version() < 13)
      return;
  auto *nodes = model.mutable_graph()->mutable_node();
  llvm::StringMap<const onnx::NodeProto *> makers;
  llvm::StringMap<SmallVector<onnx::NodeProto *, 3>> readers;
  llvm::StringSet<> taken;
  for (onnx::NodeProto &node : *nodes) {
    for (const std::string &output : node.output()) {
      makers[output] = &node;
      taken.insert(output);
    }
    for (const std::string &input : node.input())
      readers[input].push_back(&node);
  }
  for (onnx::NodeProto &node : *nodes) {
    if (node.op_type() != "SplitToSequence" || node.input_size() != 2 ||
        node.output_size() != 1)
      continue;
    const std::string sequence = node.output(0);
    auto sizes = readIntegers(makers.lookup(node.input(1)));
    // One size for all parts is no list.
    if (!sizes || sizes->size() < 2)
      continue;
    int64_t count = sizes->size();
    SmallVector<std::pair<onnx::NodeProto *, int64_t>> parts;
    ArrayRef<onnx::NodeProto *> users = readers[sequence];
    for (onnx::NodeProto *user : users) {
      auto at = user->input_size() == 2
                    ? readIntegers(makers.lookup(user->input(1)))
                    : std::nullopt;
      if (user->op_type() != "SequenceAt" || user->input(0) != sequence ||
          !at || at->size() != 1 || at->front() < -count ||
          at->front() >= count)
        break;
      parts.emplace_back(user, (at->front() + count) % count);
    }
    if (parts.empty() || parts.size() != users.size())
      continue;
    node.set_op_type("Split");
    for (int i = node.attribute_size() - 1; i >= 0; --i)
      if (node.attribute(i).name() == "keepdims")
        node.mutable_attribute()->DeleteSubrange(i, 1);
    node.clear_output();
    for (int64_t i = 0; i < count; ++i) {
      std::string name = sequence + "." + std::to_string(i);
      while (!taken.insert(name).second)
        name += "_";
      node.add_output(name);
    }
    for (auto [user, number] : parts) {
      user->set_op_type("Identity");
      user->clear_input();
      user->add_input(node.output(int(number)));
    }
  }
}
