//===- TensorFlowModel.cpp - Reading and checking a TensorFlow model ----===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/TensorFlowModel.h"
#include "runtime/formats/tensorflow_model.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

TensorFlowModel::TensorFlowModel(MLIRContext *context, StringRef path,
                                 StringRef folder, const ImportOptions &options)
    : BuilderStorage(context), TensorFlowNode(storage), options(options),
      path(path.str()), folder(folder.str()),
      fileLocation(FileLineColLoc::get(context, path, 0, 0)) {
  context->loadDialect<GraphDialect, func::FuncDialect>();
  seed = options.seed;
  ::dist::ExternalFiles::Opened opened;
  if (options.dependencies)
    opened = [&options](const std::string &file, std::string_view bytes) {
      options.dependencies->add(file, bytes);
    };
  if (!folder.empty())
    files = std::make_unique<::dist::ExternalFiles>(path.str(), options.access,
                                                    opened);
}

LogicalResult TensorFlowModel::error(const llvm::Twine &what,
                                     const llvm::Twine &why,
                                     const llvm::Twine &todo) {
  std::string text = (what + " (" + path + "): " + why).str();
  if (std::string advice = todo.str(); !advice.empty())
    text += "; " + advice;
  mlir::emitError(fileLocation) << text;
  return failure();
}

LogicalResult TensorFlowModel::error(const ::dist::Status &status) {
  mlir::emitError(fileLocation) << status.message();
  return failure();
}

TensorFlowModel::Reference TensorFlowModel::parseReference(StringRef text) {
  Reference reference;
  reference.isControl = text.consume_front("^");
  SmallVector<StringRef> parts;
  text.split(parts, ':');
  reference.name = parts.front();
  if (parts.size() > 2)
    reference.result = parts[1];
  if (parts.size() > 1 && parts.back().getAsInteger(10, reference.index)) {
    reference.result = parts.back();
    reference.index = 0;
  }
  return reference;
}

LogicalResult TensorFlowModel::addGraph(Graph &graph, const Nodes &nodes) {
  graph.nodes = &nodes;
  for (int i = 0; i < nodes.size(); ++i)
    if (!graph.places.try_emplace(nodes[i].name(), i).second)
      return error("cannot import the model",
                   "two nodes are named '" + nodes[i].name() + "'");
  return success();
}

LogicalResult TensorFlowModel::load(StringRef bytes) {
  ::dist::Status status =
      ::dist::parseTensorFlowModel(bytes, path, &model, &isFrozen);
  if (!status.ok())
    return error(status);
  if (failed(addGraph(graph, model.graph_def().node())))
    return failure();
  for (const tensorflow::FunctionDef &function :
       model.graph_def().library().function()) {
    const std::string &name = function.signature().name();
    auto [it, isNew] = functions.try_emplace(name);
    if (!isNew)
      return error("cannot import the model",
                   "two functions are named '" + name + "'");
    it->second.function = &function;
    if (failed(addGraph(it->second, function.node_def())))
      return failure();
  }
  if (isFrozen) {
    if (!options.signature.empty())
      return error("bad --signature '" + options.signature + "'",
                   "a frozen graph has no signatures", "leave it out");
    chooseFrozenPorts();
  } else if (failed(chooseSignature())) {
    return failure();
  }
  if (failed(selectOutputs()))
    return failure();
  if (isFrozen)
    dropUnreadInputs();
  if (outputPorts.empty())
    return error("cannot import the model", "it has no output");
  if (failed(isFrozen ? addFrozenVariables() : loadVariables()))
    return failure();
  return applyRegexes();
}

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

LogicalResult TensorFlowModel::chooseSignature() {
  std::vector<std::string> names;
  for (const auto &entry : model.signature_def())
    if (!StringRef(entry.first).starts_with("__saved_model"))
      names.push_back(entry.first);
  llvm::sort(names);
  std::string list = names.empty()
                         ? "the model has none"
                         : "the model has '" + llvm::join(names, "', '") + "'";
  std::string name = options.signature;
  if (name.empty())
    name = names.size() == 1 ? names.front() : "serving_default";
  if (!llvm::is_contained(names, name)) {
    if (!options.signature.empty())
      return error("bad --signature '" + name + "'",
                   "the model has no signature of that name", list);
    if (names.empty())
      return error("cannot import the model",
                   "it was saved without a signature: nothing says what it "
                   "computes",
                   "save it with Keras' model.export, or give "
                   "tf.saved_model.save signatures=");
    return error("cannot import the model",
                 "it has no signature 'serving_default'",
                 "give --signature: " + list);
  }
  const tensorflow::SignatureDef &signature = model.signature_def().at(name);
  auto collect = [&](const auto &from, std::vector<Port> &ports) {
    for (const auto &[key, info] : from)
      ports.push_back(
          {key, info.name(), &info, info.tensor_shape(), info.dtype()});
    llvm::sort(ports,
               [](const Port &x, const Port &y) { return x.name < y.name; });
  };
  collect(signature.inputs(), inputPorts);
  collect(signature.outputs(), outputPorts);
  return success();
}

void TensorFlowModel::chooseFrozenPorts() {
  llvm::StringSet<> read;
  for (const tensorflow::NodeDef &node : *graph.nodes)
    for (const std::string &input : node.input())
      read.insert(parseReference(input).name);
  static const StringRef kNone[] = {"NoOp",        "Const",       "Assert",
                                    "Placeholder", "VarHandleOp", "SaveV2"};
  for (const tensorflow::NodeDef &node : *graph.nodes) {
    if (node.op() == "Placeholder" || node.op() == "PlaceholderWithDefault") {
      Port port{node.name(), node.name(), nullptr, {}, 0};
      auto shape = node.attr().find("shape");
      if (shape != node.attr().end())
        port.shape = shape->second.shape();
      auto type = node.attr().find("dtype");
      if (type != node.attr().end())
        port.type = type->second.type();
      inputPorts.push_back(port);
    } else if (!read.contains(node.name()) &&
               !llvm::is_contained(kNone, node.op())) {
      outputPorts.push_back({node.name(), node.name(), nullptr, {}, 0});
      outputPorts.back().shape.set_unknown_rank(true);
    }
  }
}

/// A frozen graph does not say which of its placeholders are the model's:
/// functions that became loops leave some that nothing reads.
void TensorFlowModel::dropUnreadInputs() {
  llvm::StringSet<> reached;
  SmallVector<StringRef> waiting;
  for (const Port &port : outputPorts)
    waiting.push_back(parseReference(port.tensor).name);
  while (!waiting.empty()) {
    StringRef name = waiting.pop_back_val();
    auto place = graph.places.find(name);
    if (place == graph.places.end() || !reached.insert(name).second)
      continue;
    for (const std::string &input : (*graph.nodes)[place->second].input())
      if (Reference reference = parseReference(input); !reference.isControl)
        waiting.push_back(reference.name);
  }
  llvm::erase_if(inputPorts, [&](const Port &port) {
    return !reached.contains(port.tensor);
  });
}

LogicalResult TensorFlowModel::selectOutputs() {
  if (options.outputs.empty())
    return success();
  std::vector<Port> kept;
  for (const std::string &name : options.outputs) {
    auto it = llvm::find_if(
        outputPorts, [&](const Port &port) { return port.name == name; });
    if (it != outputPorts.end()) {
      kept.push_back(*it);
      continue;
    }
    if (!graph.places.count(parseReference(name).name))
      return error("bad --outputs '" + name + "'",
                   "the model has no output and no node of that name");
    kept.push_back({name, name, nullptr, {}, 0});
    kept.back().shape.set_unknown_rank(true);
  }
  outputPorts = std::move(kept);
  return success();
}

LogicalResult TensorFlowModel::applyRegexes() {
  auto apply = [&](StringRef option, StringRef text, bool train) {
    if (text.empty())
      return success();
    llvm::Regex regex(text);
    std::string problem;
    if (!regex.isValid(problem))
      return error("bad --" + option + " '" + text + "'", problem);
    bool any = false;
    for (Variable &variable : variables) {
      if (!variable.isReached || !regex.match(variable.name))
        continue;
      any = true;
      variable.trainable = train;
      if (train)
        variable.group = "parameter";
      variable.why = ("--" + option + " " + text).str();
    }
    return any ? success()
               : error("bad --" + option + " '" + text + "'",
                       "it matches no variable of the model");
  };
  if (failed(apply("train", options.trainRegex, true)))
    return failure();
  return apply("freeze", options.freezeRegex, false);
}
