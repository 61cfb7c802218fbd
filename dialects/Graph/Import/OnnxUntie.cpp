//===- OnnxUntie.cpp - Initializers that an exporter made one -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters keep equal initializers once: all biases of a fresh model are one
// vector of zeros then. Trained as one variable, the model is another one. They
// are made several again where that is certain: all elements are equal (a table
// that the model shares with its head is not), and an Identity node still gives
// the name of the other parameter. Where no name is left only the user knows.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxModel.h"
#include "runtime/formats/convert.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Whether all elements have the same bits.
static bool isUniform(const ::dist::HostArray &array) {
  StringRef bytes(array.data, array.view().bytes());
  size_t size = ::dist::byteSize(array.type);
  return bytes.size() >= size &&
         bytes.drop_front(size) == bytes.drop_back(size);
}

bool mlir::dist::graph::isParameterName(StringRef name) {
  // What PyTorch's exporter computes from constants it calls val_12.
  StringRef number = name;
  if (number.consume_front("val_") && llvm::all_of(number, llvm::isDigit))
    return false;
  return !name.empty() && !name.starts_with("/") &&
         !name.starts_with("onnx::") && !name.contains("Identity") &&
         !name.contains("_output_") && !name.starts_with_insensitive("const") &&
         !llvm::all_of(name, llvm::isDigit);
}

LogicalResult OnnxModel::untie() {
  llvm::Regex regex(options.untieRegex);
  std::string problem;
  bool asked = !options.untieRegex.empty();
  if (asked && !regex.isValid(problem))
    return error("bad --untie '" + options.untieRegex + "'", problem);
  llvm::StringSet<> taken;
  for (const auto &entry : initializers)
    taken.insert(entry.getKey());
  for (const onnx::ValueInfoProto &input : model.graph().input())
    taken.insert(input.name());
  llvm::StringSet<> ofModel;
  for (const onnx::ValueInfoProto &output : model.graph().output())
    ofModel.insert(output.name());
  for (const onnx::NodeProto &node : model.graph().node())
    for (const std::string &output : node.output())
      taken.insert(output);

  std::vector<::dist::OnnxCopy> copies;
  // Names that Identity nodes gave, of which the file has one initializer.
  llvm::StringMap<std::string> origin;
  llvm::StringMap<unsigned> uses;
  bool matched = false;
  auto copyOf = [&](const std::string &name, const std::string &from,
                    const std::string &node, int input) {
    initializers[name] = initializers.find(from)->second;
    untiedFrom[name] = from;
    copies.push_back({name, from, node, input});
  };
  for (const onnx::NodeProto &node : model.graph().node()) {
    if (node.op_type() != "Identity" || node.input_size() != 1 ||
        node.output_size() != 1 || ofModel.contains(node.output(0)))
      continue;
    auto known = initializers.find(node.input(0));
    if (known == initializers.end() || !::dist::isFloat(known->second.type))
      continue;
    const std::string &name = node.output(0), &from = node.input(0);
    bool wanted = asked && (regex.match(name) || regex.match(from));
    if (wanted || (isParameterName(name) && isUniform(known->second))) {
      matched |= wanted;
      copyOf(name, from, name, -1);
    }
  }
  // Every use after the first.
  for (const onnx::NodeProto &node : model.graph().node())
    for (int i = 0; asked && i < node.input_size(); ++i) {
      const std::string &from = node.input(i);
      auto known = initializers.find(from);
      if (known == initializers.end() || !::dist::isFloat(known->second.type) ||
          node.output_size() == 0 || node.op_type() == "Identity" ||
          !regex.match(from))
        continue;
      if (uses[from]++ == 0)
        continue;
      matched = true;
      std::string stem = from + "." +
                         (node.name().empty() ? node.output(0) : node.name()),
                  name = stem;
      for (unsigned n = 2; !taken.insert(name).second; ++n)
        name = stem + "." + std::to_string(n);
      copyOf(name, from, node.output(0), i);
    }
  if (asked && !matched)
    return error("bad --untie '" + options.untieRegex + "'",
                 "it matches no initializer that several nodes use",
                 "see dist-run info for those that are shared");
  ::dist::addOnnxCopies(copies, model.mutable_graph());
  for (const ::dist::OnnxCopy &copy : copies)
    untied.push_back(storage.getArrayAttr(
        {storage.getStringAttr(copy.name), storage.getStringAttr(copy.from),
         storage.getStringAttr(copy.node),
         storage.getI64IntegerAttr(copy.input)}));
  return success();
}

/// Whether all users are of one op: an embedding that is the head, too, is read
/// by a Gather and a product, copies of a layer by the same ops.
static bool haveOneOp(ArrayRef<std::string> users) {
  return llvm::all_of(users, [&](const std::string &user) {
    return StringRef(user).split(' ').first ==
           StringRef(users.front()).split(' ').first;
  });
}

void OnnxModel::describeSharing() {
  // Initializers that several ops of one kind read.
  std::vector<std::string> shared;
  for (auto &entry : trainability) {
    Trainability &state = entry.second;
    if (auto from = untiedFrom.find(entry.getKey()); from != untiedFrom.end())
      state.why += ", untied from '" + from->second + "'";
    if (!state.trainable || state.users.size() < 2)
      continue;
    std::string users = llvm::join(ArrayRef(state.users).drop_front(), ", ");
    state.why += ", shared with " + users;
    const ::dist::HostArray &array = initializers.find(entry.getKey())->second;
    if (!isUniform(array)) {
      if (haveOneOp(state.users))
        shared.push_back(entry.getKey().str());
      continue;
    }
    notes.push_back("'" + entry.getKey().str() + "' is one parameter of " +
                    llvm::join(state.users, ", ") +
                    ": all its elements are equal, so the exporter may have "
                    "made several one; give --untie '^" +
                    llvm::Regex::escape(entry.getKey()) +
                    "$' to train them apart");
  }
  if (shared.empty())
    return;
  llvm::sort(shared);
  std::string text, regex;
  for (const std::string &name : ArrayRef(shared).take_front(3)) {
    text += (text.empty() ? "'" : ", '") + name + "' of " +
            llvm::join(trainability.find(name)->second.users, " and ");
    regex += (regex.empty() ? "" : "|") + llvm::Regex::escape(name);
  }
  bool several = shared.size() > 3;
  notes.push_back(
      "one parameter of several nodes: " + text +
      (several ? " and " + std::to_string(shared.size() - 3) + " more" : "") +
      ": the model shares " + (shared.size() > 1 ? "them" : "it") +
      ", or the exporter found copies of a layer that begin alike; give " +
      (several ? "--untie REGEX" : "--untie '^(" + regex + ")$'") +
      " to train them apart");
}

void OnnxModel::listFrozen() {
  llvm::StringSet<> used;
  forEachNode(model.graph(), [&](const onnx::NodeProto &node) {
    for (const std::string &input : node.input())
      used.insert(input);
  });
  std::string several, single;
  // In the file's order.
  for (const onnx::TensorProto &tensor : model.graph().initializer()) {
    auto found = trainability.find(tensor.name());
    if (found == trainability.end() || found->second.trainable ||
        found->second.group != "parameter" || !used.contains(tensor.name()) ||
        found->second.byUser)
      continue;
    const ::dist::HostArray &array = initializers.find(tensor.name())->second;
    bool isNumber = ::dist::elementCount(array.shape) == 1;
    std::string &list = isNumber ? single : several;
    list += (list.empty() ? "'" : ", '") + tensor.name() + "'";
    if (!isNumber)
      list += " (" + found->second.why + ")";
  }
  if (several.empty() && single.empty())
    return;
  notes.push_back("not trained: " + several +
                  (several.empty() || single.empty() ? "" : "; ") +
                  (single.empty() ? "" : "single numbers " + single) +
                  "; --train REGEX trains what it names");
}
