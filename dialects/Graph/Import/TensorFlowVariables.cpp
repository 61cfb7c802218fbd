//===- TensorFlowVariables.cpp - Variables of a TensorFlow model --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/ImportedFunction.h"
#include "dialects/Graph/Import/TensorFlowModel.h"
#include "runtime/formats/tensorflow_model.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// How keys of objects end.
static constexpr StringLiteral kValueKey = "/.ATTRIBUTES/VARIABLE_VALUE";

//===----------------------------------------------------------------------===//
// What the file says of them
//===----------------------------------------------------------------------===//

static bool isHandle(StringRef op) {
  return op == "VarHandleOp" || op == "VariableV2" || op == "Variable";
}

/// Notes the keys that a graph's restore assigns; `arguments` are what its
/// caller hands to a function, by nodes.
void TensorFlowModel::findKeys(const Graph &from,
                               ArrayRef<std::string> arguments) {
  auto find = [&](StringRef text) -> const tensorflow::NodeDef * {
    auto it = from.places.find(parseReference(text).name);
    return it == from.places.end() ? nullptr : &(*from.nodes)[it->second];
  };
  for (const tensorflow::NodeDef &node : *from.nodes) {
    if ((node.op() != "AssignVariableOp" && node.op() != "Assign") ||
        node.input_size() < 2)
      continue;
    // What is assigned, through what only renames or converts.
    StringRef source = node.input(1);
    const tensorflow::NodeDef *origin = find(source);
    for (int steps = 0; origin && steps < 8 && origin->input_size() > 0 &&
                        (origin->op() == "Identity" || origin->op() == "Cast");
         ++steps) {
      source = origin->input(0);
      origin = find(source);
    }
    if (!origin || origin->op() != "RestoreV2" || origin->input_size() < 2)
      continue;
    const tensorflow::NodeDef *names = find(origin->input(1));
    auto value =
        names ? names->attr().find("value") : decltype(names->attr().end()){};
    if (!names || value == names->attr().end())
      continue;
    const auto &keys = value->second.tensor().string_val();
    unsigned index = parseReference(source).index;
    if (int(index) >= keys.size())
      continue;
    std::string handle = parseReference(node.input(0)).name.str();
    if (from.function) {
      const auto &parameters = from.function->signature().input_arg();
      for (int i = 0; i < parameters.size() && i < int(arguments.size()); ++i)
        if (parameters[i].name() == handle) {
          handle = parseReference(arguments[i]).name.str();
          break;
        }
    }
    if (auto variable = variableOf.find(handle); variable != variableOf.end())
      variables[variable->second].key = keys[int(index)];
  }
}

/// What the file's objects, or its collection of trainable variables, say: by
/// the keys that the objects' places make, and by names.
void TensorFlowModel::tellTrainable(llvm::StringMap<bool> &byKey,
                                    llvm::StringMap<std::string> &names) {
  const auto &objects = model.object_graph_def().nodes();
  std::vector<std::string> places(objects.size());
  std::vector<bool> seen(objects.size());
  std::vector<int> queue;
  if (!objects.empty()) {
    queue.push_back(0);
    seen[0] = true;
  }
  // Breadth first, as TensorFlow names keys.
  for (size_t next = 0; next < queue.size(); ++next) {
    int at = queue[next];
    if (objects[at].has_variable()) {
      std::string key = places[at] + kValueKey.str();
      byKey[key] = objects[at].variable().trainable();
      names[key] = objects[at].variable().name();
    }
    for (const auto &child : objects[at].children()) {
      int id = child.node_id();
      if (id < 0 || id >= objects.size() || seen[id])
        continue;
      seen[id] = true;
      std::string name;
      for (char c : child.local_name())
        name += c == '.' ? ".." : c == '/' ? ".S" : std::string(1, c);
      places[id] = places[at].empty() ? name : places[at] + "/" + name;
      // A file of few bytes must not fill the memory with long places.
      if (places[id].size() < 4096)
        queue.push_back(id);
    }
  }
  auto trained = model.collection_def().find("trainable_variables");
  if (trained == model.collection_def().end())
    return;
  for (const std::string &bytes : trained->second.bytes_list().value()) {
    tensorflow::VariableDef variable;
    if (variable.ParseFromString(bytes))
      byKey[parseReference(variable.variable_name()).name] = true;
  }
}

/// Who trains saves the same variable twice: that of the layers, and that of
/// the function. Only the one that the outputs need takes a name.
void TensorFlowModel::markReached() {
  std::vector<bool> seen(graph.nodes->size());
  std::vector<int> queue;
  auto visit = [&](StringRef input) {
    auto it = graph.places.find(parseReference(input).name);
    if (it == graph.places.end() || seen[it->second])
      return;
    seen[it->second] = true;
    queue.push_back(it->second);
  };
  for (const Port &port : outputPorts)
    visit(port.tensor);
  while (!queue.empty()) {
    const tensorflow::NodeDef &node = (*graph.nodes)[queue.back()];
    queue.pop_back();
    if (auto it = variableOf.find(node.name()); it != variableOf.end())
      variables[it->second].isReached = true;
    for (const std::string &input : node.input())
      visit(input);
  }
}

LogicalResult TensorFlowModel::loadVariables() {
  llvm::StringMap<int> byName;
  for (const tensorflow::NodeDef &node : *graph.nodes) {
    if (!isHandle(node.op()))
      continue;
    // Handles of one name are of one variable.
    auto shared = node.attr().find("shared_name");
    std::string name = shared == node.attr().end() || shared->second.s().empty()
                           ? node.name()
                           : shared->second.s();
    auto [known, isNew] = byName.try_emplace(name, int(variables.size()));
    variableOf[node.name()] = known->second;
    if (isNew)
      variables.emplace_back().name = name;
  }
  if (variables.empty())
    return success();
  findKeys(graph, {});
  const std::string &restore = model.saver_def().restore_op_name();
  auto it = graph.places.find(parseReference(restore).name);
  if (it != graph.places.end()) {
    const tensorflow::NodeDef &node = (*graph.nodes)[it->second];
    auto f = node.attr().find("f");
    const Graph *called = findFunction(
        f == node.attr().end() ? node.op() : f->second.func().name());
    if (called)
      findKeys(*called, llvm::to_vector_of<std::string>(node.input()));
  }
  llvm::StringMap<bool> trainable;
  llvm::StringMap<std::string> names;
  tellTrainable(trainable, names);
  // What the objects call them, where that tells them apart.
  llvm::StringMap<int> uses;
  auto nameOf = [&](const Variable &v) -> std::string {
    auto found = names.find(v.key);
    return found == names.end() || found->second.empty() ? v.name
                                                         : found->second;
  };
  markReached();
  for (const Variable &variable : variables)
    uses[nameOf(variable)] += variable.isReached;
  for (Variable &variable : variables) {
    auto told = trainable.find(variable.key);
    if (told == trainable.end())
      told = trainable.find(variable.name);
    if (told != trainable.end()) {
      variable.trainable = told->second;
      variable.why = told->second ? "the file says that it is trained"
                                  : "the file says that it is not trained";
    } else {
      variable.trainable = trainable.empty();
      variable.why = trainable.empty()
                         ? "the file does not say what is trained"
                         : "the file does not say that it is trained";
    }
  }
  // Names are symbols: those that objects have come first.
  llvm::StringSet<> taken;
  for (const Variable &variable : variables)
    if (variable.isReached && uses[nameOf(variable)] == 1)
      taken.insert(nameOf(variable));
  for (Variable &variable : variables) {
    std::string name = nameOf(variable);
    if (variable.isReached && uses[name] == 1) {
      variable.name = name;
      continue;
    }
    std::string base = variable.name;
    for (int i = 1; !taken.insert(variable.name).second; ++i)
      variable.name = base + "_" + std::to_string(i);
  }
  return success();
}

/// A frozen graph has constants for variables: those that were read as such, or
/// that stand where layers have weights.
LogicalResult TensorFlowModel::addFrozenVariables() {
  struct Place {
    StringRef op;
    ArrayRef<int> inputs;
  };
  static const int kFirst[] = {0}, kSecond[] = {1}, kBoth[] = {0, 1},
                   kNorm[] = {1, 2, 3, 4};
  static const Place kPlaces[] = {{"MatMul", kBoth},
                                  {"BatchMatMulV2", kSecond},
                                  {"Conv2D", kSecond},
                                  {"Conv3D", kSecond},
                                  {"Conv2DBackpropInput", kSecond},
                                  {"DepthwiseConv2dNative", kSecond},
                                  {"BiasAdd", kSecond},
                                  {"Einsum", kSecond},
                                  {"GatherV2", kFirst},
                                  {"ResourceGather", kFirst},
                                  {"FusedBatchNormV3", kNorm}};
  auto find = [&](StringRef text) -> const tensorflow::NodeDef * {
    auto it = graph.places.find(parseReference(text).name);
    return it == graph.places.end() ? nullptr : &(*graph.nodes)[it->second];
  };
  auto consider = [&](const tensorflow::NodeDef *constant, StringRef why,
                      bool trainable) {
    for (int steps = 0; constant && steps < 8 && constant->input_size() > 0 &&
                        constant->op() == "Identity";
         ++steps)
      constant = find(constant->input(0));
    if (!constant || constant->op() != "Const")
      return;
    auto value = constant->attr().find("value");
    if (value == constant->attr().end() || variableOf.count(constant->name()))
      return;
    const tensorflow::TensorProto &tensor = value->second.tensor();
    ::dist::HostArray array;
    if (!::dist::takeTensorFlowTensor(tensor, constant->name(), &array).ok())
      return;
    RankedTensorType type = toTensorType(getContext(), array);
    if (!type || !isa<FloatType>(type.getElementType()) ||
        type.getNumElements() < 2)
      return;
    StringRef name = constant->name();
    name.consume_back("/resource");
    name.consume_back("/ReadVariableOp");
    variableOf[constant->name()] = int(variables.size());
    Variable &variable = variables.emplace_back();
    bool moves = name.contains("moving_");
    variable.trainable = trainable && !moves;
    variable.group = trainable && !moves ? "parameter" : "buffer";
    variable.why = moves ? "moving statistics, by its name" : why.str();
    variable.initial = array;
    variable.isReached = true;
    bool taken = llvm::any_of(variables, [&](const Variable &other) {
      return &other != &variable && other.name == name;
    });
    variable.name = taken ? constant->name() : name.str();
  };
  for (const tensorflow::NodeDef &node : *graph.nodes) {
    StringRef name = node.name();
    bool isRead =
        node.op() == "ReadVariableOp" ||
        (node.op() == "Identity" &&
         (name.contains("ReadVariableOp") || name.ends_with("/read")));
    if (isRead && node.input_size() > 0)
      consider(find(node.input(0)), "a variable that was read there", true);
    for (const Place &place : kPlaces) {
      if (place.op != node.op())
        continue;
      for (int i : place.inputs)
        if (i < node.input_size())
          consider(find(node.input(i)),
                   ("input " + llvm::Twine(i) + " of " + place.op).str(),
                   i < 3);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// For the nodes
//===----------------------------------------------------------------------===//

int TensorFlowModel::findVariable() {
  auto it = variableOf.find(node->name());
  return it == variableOf.end() ? -1 : it->second;
}

FailureOr<HostTensor> TensorFlowModel::readInitial(StringRef) {
  // A variable's value changes: nothing may rest on it.
  return failure();
}

Value TensorFlowModel::readVariable(int number) {
  Variable &variable = variables[number];
  if (variable.value)
    return variable.value;
  if (!variable.initial.data) {
    ::dist::Status status;
    if (variable.key.empty()) {
      (void)fail("variable '" + variable.name +
                     "' has no value: the file does not say where it is in "
                     "the checkpoint",
                 "save the model with its variables");
      return {};
    }
    if (!bundle && !files) {
      (void)fail("variables are in files beside the model's, which has no "
                 "folder");
      return {};
    }
    if (!bundle)
      status =
          ::dist::TensorBundle::open(*files, "variables/variables", &bundle);
    if (status.ok())
      status = bundle->read(*files, variable.key, &variable.initial);
    if (!status.ok()) {
      (void)fail("variable '" + variable.name + "': " + status.message());
      return {};
    }
  }
  RankedTensorType type = toTensorType(getContext(), variable.initial);
  ElementsAttr initial =
      toElements(getContext(), variable.name, variable.initial);
  if (!type || !initial) {
    (void)fail("variable '" + variable.name + "' is too large");
    return {};
  }
  OpBuilder::InsertionGuard guard(storage);
  if (lastRead)
    storage.setInsertionPointAfter(lastRead);
  else
    storage.setInsertionPointToStart(&function.getBody().front());
  Location outer = loc;
  loc = NameLoc::get(storage.getStringAttr(variable.name));
  variable.value = make<ReadOp>(
      {},
      {attr("variable", FlatSymbolRefAttr::get(getContext(), variable.name))},
      type);
  storage.setInsertionPoint(function);
  SmallVector<NamedAttribute> attributes = {
      text("sym_name", variable.name), attr("type", TypeAttr::get(type)),
      attr("initial", initial),        text("group", variable.group),
      text("why", variable.why),       text("graph.model_name", variable.name)};
  if (variable.trainable && isa<FloatType>(type.getElementType()))
    attributes.push_back(attr("trainable", storage.getUnitAttr()));
  makeAll<VariableOp>({}, attributes);
  loc = outer;
  if (variable.value)
    lastRead = variable.value.getDefiningOp();
  return variable.value;
}

LogicalResult TensorFlowModel::assignVariable(int number, Value) {
  return fail("it assigns variable '" + variables[number].name +
                  "', and a model that is trained here has no other "
                  "assignments",
              "export the model as for inference (training=False)");
}

/// Counts steps for what draws random numbers: training advances it.
Value TensorFlowModel::stepCounter() {
  if (counter)
    return counter;
  counter = makeStepCounter(*this, storage, function);
  if (!lastRead && counter)
    lastRead = counter.getDefiningOp();
  return counter;
}
