//===- OnnxSequences.cpp - Sequences that are only taken apart ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's exporter (dynamo=True, optimize=False) writes x.split(sizes),
// x.split(size), x.chunk(count) and x.unbind() as a sequence from which each
// part is taken by its number: attention that computes query, key and value at
// once has such. It is a Split, or each part is a Slice or Gather, where sizes
// and numbers are Constant nodes. Other sequences are refused where they are
// imported.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxModel.h"
#include "runtime/formats/convert.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Of AttributeProto.AttributeType in onnx.proto.
static constexpr int32_t kInteger = 2, kIntegers = 7;

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

static int64_t readAttribute(const onnx::NodeProto &node, StringRef name,
                             int64_t missing) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.i();
  return missing;
}

namespace {

/// A part that a node takes out of a sequence.
struct Part {
  onnx::NodeProto *taker;
  int64_t number;
};

/// The nodes of a graph by what they make and read; what is added to them lies
/// apart, so that they stay where they are.
class Sequences {
public:
  explicit Sequences(onnx::GraphProto &graph) : graph(graph) {
    for (onnx::NodeProto &node : *graph.mutable_node()) {
      for (const std::string &output : node.output()) {
        makers[output] = &node;
        taken.insert(output);
      }
      for (const std::string &input : node.input())
        readers[input].push_back(&node);
    }
  }
  void takeApart() {
    for (onnx::NodeProto &node : *graph.mutable_node())
      if (node.op_type() == "SplitToSequence" && node.output_size() == 1)
        takeApart(node);
    for (onnx::NodeProto &constant : constants)
      *graph.add_node() = std::move(constant);
  }

private:
  void takeApart(onnx::NodeProto &node);
  std::optional<SmallVector<Part>> findParts(const onnx::NodeProto &node) const;
  void split(onnx::NodeProto &node, ArrayRef<Part> parts, int64_t count);
  std::string newName(std::string name) {
    while (!taken.insert(name).second)
      name += "_";
    return name;
  }
  /// A new constant, of one element or a scalar.
  std::string integer(const std::string &name, int64_t value, bool isList) {
    onnx::NodeProto &node = constants.emplace_back();
    node.set_op_type("Constant");
    node.add_output(newName(name));
    onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(isList ? "value_ints" : "value_int");
    attribute.set_type(isList ? kIntegers : kInteger);
    if (isList)
      attribute.add_ints(value);
    else
      attribute.set_i(value);
    return node.output(0);
  }

  onnx::GraphProto &graph;
  llvm::StringMap<const onnx::NodeProto *> makers;
  llvm::StringMap<SmallVector<onnx::NodeProto *, 3>> readers;
  llvm::StringSet<> taken;
  std::vector<onnx::NodeProto> constants;
};

} // namespace

/// None: there is another use of the sequence than to take a known part.
std::optional<SmallVector<Part>>
Sequences::findParts(const onnx::NodeProto &node) const {
  SmallVector<Part> parts;
  const std::string &sequence = node.output(0);
  for (onnx::NodeProto *user : readers.lookup(sequence)) {
    auto at = user->input_size() == 2
                  ? readIntegers(makers.lookup(user->input(1)))
                  : std::nullopt;
    if (user->op_type() != "SequenceAt" || user->input(0) != sequence || !at ||
        at->size() != 1)
      return std::nullopt;
    parts.push_back({user, at->front()});
  }
  return parts;
}

/// By the sizes of all parts: all of them at once.
void Sequences::split(onnx::NodeProto &node, ArrayRef<Part> parts,
                      int64_t count) {
  const std::string sequence = node.output(0);
  node.set_op_type("Split");
  for (int i = node.attribute_size() - 1; i >= 0; --i)
    if (node.attribute(i).name() == "keepdims")
      node.mutable_attribute()->DeleteSubrange(i, 1);
  node.clear_output();
  for (int64_t i = 0; i < count; ++i)
    node.add_output(newName(sequence + "." + std::to_string(i)));
  for (auto [taker, number] : parts) {
    taker->set_op_type("Identity");
    taker->clear_input();
    taker->add_input(node.output(int((number + count) % count)));
  }
}

void Sequences::takeApart(onnx::NodeProto &node) {
  auto parts = findParts(node);
  if (!parts || parts->empty() || node.input_size() == 0)
    return;
  const bool hasSizes = node.input_size() > 1 && !node.input(1).empty();
  SmallVector<int64_t> sizes{1};
  if (hasSizes) {
    auto given = readIntegers(makers.lookup(node.input(1)));
    if (!given || given->empty())
      return;
    sizes = *given;
  }
  const int64_t count = sizes.size(), size = sizes.front();
  if (count > 1) {
    if (llvm::all_of(*parts, [&](const Part &part) {
          return part.number >= -count && part.number < count;
        }))
      split(node, *parts, count);
    return;
  }
  // Of one size, how many there are is not known here: nor is the last one.
  if (size < 1 ||
      llvm::any_of(*parts, [](const Part &part) { return part.number < 0; }))
    return;
  const std::string whole = node.input(0), sequence = node.output(0);
  const int64_t axis = readAttribute(node, "axis", 0);
  const bool keepsDim = hasSizes || readAttribute(node, "keepdims", 1) != 0;
  for (auto [taker, number] : *parts) {
    const std::string name = sequence + "." + std::to_string(number);
    taker->clear_input();
    taker->clear_attribute();
    taker->add_input(whole);
    if (keepsDim) {
      taker->set_op_type("Slice");
      taker->add_input(integer(name + ".begin", number * size, true));
      taker->add_input(integer(name + ".end", (number + 1) * size, true));
      taker->add_input(integer(name + ".axis", axis, true));
      continue;
    }
    taker->set_op_type("Gather");
    taker->add_input(integer(name + ".index", number, false));
    onnx::AttributeProto &attribute = *taker->add_attribute();
    attribute.set_name("axis");
    attribute.set_type(kInteger);
    attribute.set_i(axis);
  }
  // Nothing reads it any more.
  node.set_op_type("Identity");
  node.clear_attribute();
  while (node.input_size() > 1)
    node.mutable_input()->RemoveLast();
}

void OnnxModel::takeSequencesApart() {
  for (const onnx::OperatorSetIdProto &set : model.opset_import())
    // Before, a Split has its sizes in an attribute.
    if ((set.domain().empty() || set.domain() == "ai.onnx") &&
        set.version() < 13)
      return;
  Sequences(*model.mutable_graph()).takeApart();
}
