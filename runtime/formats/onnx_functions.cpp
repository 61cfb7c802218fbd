//===- onnx_functions.cpp - Functions of an ONNX model -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/onnx_functions.h"
#include "runtime/formats/onnx.pb.h"
#include "runtime/formats/onnx_branches.h"
#include <algorithm>
#include <functional>
#include <set>
#include <vector>

using namespace dist;

namespace {

/// What no model needs, and hostile ones would fill the memory with: a function
/// of two calls of one of two calls (and so on) is small in the file.
constexpr uint64_t kMostNodes = 1 << 20, kMostBytes = uint64_t(1) << 30;
constexpr uint64_t kMostNames = 1 << 24; // of functions, at all their calls
constexpr size_t kMostCalls = 64;
constexpr unsigned kMostBranches = 32;
/// Longer paths of calls are no help to a reader.
constexpr size_t kLongestPrefix = 200;

/// Ops whose numbers changed at a version of the standard ops, without a change
/// of their inputs or attributes that would tell. Before 7 many did.
constexpr struct {
  const char *op;
  int64_t version;
} kChanged[] = {{"BatchNormalization", 9},
                {"BatchNormalization", 14},
                {"GroupNormalization", 21},
                {"Hardmax", 13},
                {"LogSoftmax", 13},
                {"Resize", 11},
                {"Softmax", 13}};
constexpr int64_t kFirstSettled = 7;

const std::string &nameOf(const onnx::NodeProto &node) {
  return node.name().empty() ? keyOfOnnxNode(node) : node.name();
}

std::string standardName(const std::string &domain) {
  return domain == "ai.onnx" ? "" : domain;
}

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Names within a function or a branch of it -> names in the graph.
struct Scope {
  const Scope *outer = nullptr;
  std::map<std::string, std::string> names;

  const std::string *find(const std::string &name) const {
    for (const Scope *scope = this; scope; scope = scope->outer)
      if (auto found = scope->names.find(name); found != scope->names.end())
        return &found->second;
    return nullptr;
  }
};

class Inliner {
public:
  Inliner(onnx::ModelProto *model, const std::string &where,
          OnnxFunctionOfNode *functionOf)
      : model(*model), where(where), functionOf(functionOf) {}

  Status run();

private:
  struct Function {
    onnx::FunctionProto proto;
    std::string title;
    /// What its Constant nodes are called in the model's graph, once one of
    /// its calls has been replaced.
    Scope constants;
    std::set<std::string> attributes;
    bool isEntered = false;
  };
  /// What an attribute reference may find.
  using Arguments = std::map<std::string, const onnx::AttributeProto *>;

  Status error(const std::string &why, const std::string &todo = "") const {
    std::string in;
    for (size_t i = active.size(); i > 0 && active.size() - i < 3; --i)
      in += (in.empty() ? ", in function " : ", called in function ") +
            active[i - 1]->title;
    return Status::error(StatusCode::InvalidInput, "cannot import the model",
                         where, why + in, todo);
  }
  Status collect();
  Status enter(Function *function);
  Status checkVersions(const Function &function);
  Function *find(const onnx::NodeProto &node);
  void take(const onnx::GraphProto &graph);
  std::string fresh(const std::string &name);
  Status count(const onnx::NodeProto &node, uint64_t more = 0);
  Status expand(onnx::GraphProto *graph);
  Status expand(onnx::NodeProto *node, Nodes *out);
  Status call(const onnx::NodeProto &node, Function *function, Nodes *out);
  Status place(const onnx::NodeProto &inner, const Arguments &arguments,
               const std::string &prefix, const Scope &scope,
               onnx::NodeProto *copy);
  Status placeGraph(onnx::GraphProto *graph, const Arguments &arguments,
                    const std::string &prefix, const Scope &outer);

  onnx::ModelProto &model;
  const std::string &where;
  OnnxFunctionOfNode *functionOf;
  std::map<std::vector<std::string>, Function> functions;
  std::map<std::string, int64_t> versions;
  std::set<std::string> taken;
  /// How often a name came again.
  std::map<std::string, unsigned> repeats;
  std::vector<Function *> active;
  /// Constant nodes of functions, for the model's graph.
  Nodes constants;
  unsigned branches = 0;
  uint64_t nodes = 0, bytes = 0, names = 0;
};

} // namespace

Status Inliner::collect() {
  for (onnx::FunctionProto &proto : *model.mutable_functions()) {
    Function function;
    function.title = "'" +
                     (proto.domain().empty() ? "" : proto.domain() + ".") +
                     proto.name() + "'";
    if (!proto.overload().empty())
      function.title += " (overload '" + proto.overload() + "')";
    std::vector<std::string> key = {standardName(proto.domain()), proto.name(),
                                    proto.overload()};
    if (functions.count(key))
      return error("it has two functions " + function.title);
    function.proto.Swap(&proto);
    functions.emplace(std::move(key), std::move(function));
  }
  model.clear_functions();
  return {};
}

Inliner::Function *Inliner::find(const onnx::NodeProto &node) {
  auto found = functions.find(
      {standardName(node.domain()), node.op_type(), node.overload()});
  return found == functions.end() ? nullptr : &found->second;
}

/// A model has one version of a domain's ops. Those of a function are the
/// model's, too, if the ops that it calls are the same in both.
Status Inliner::checkVersions(const Function &function) {
  for (const onnx::OperatorSetIdProto &set : function.proto.opset_import()) {
    std::string domain = standardName(set.domain());
    auto [known, isNew] = versions.emplace(domain, set.version());
    if (isNew)
      *model.add_opset_import() = set;
    int64_t first = std::min<int64_t>(known->second, set.version());
    int64_t last = std::max<int64_t>(known->second, set.version());
    if (!domain.empty() || first == last)
      continue;
    std::string changed;
    std::function<void(const onnx::NodeProto &)> visit =
        [&](const onnx::NodeProto &node) {
          for (const auto &row : kChanged)
            if (standardName(node.domain()).empty() &&
                node.op_type() == row.op && first < row.version &&
                row.version <= last)
              changed = node.op_type();
          for (const onnx::AttributeProto &attribute : node.attribute())
            for (const onnx::NodeProto &inner : attribute.g().node())
              visit(inner);
        };
    for (const onnx::NodeProto &node : function.proto.node())
      visit(node);
    if (!changed.empty() || first < kFirstSettled)
      return error("its opset is " + std::to_string(set.version()) +
                       " and the model's " + std::to_string(known->second) +
                       (changed.empty()
                            ? std::string()
                            : ", between which " + changed + " has changed"),
                   "write it out with onnx.inliner.inline_local_functions("
                   "model, convert_version=True)");
  }
  return {};
}

/// Done once for each function that is called. Its tensors become nodes of the
/// model's graph: all its calls share them, as they do in the source.
Status Inliner::enter(Function *function) {
  if (function->isEntered)
    return {};
  function->isEntered = true;
  DIST_RETURN_IF_ERROR(checkVersions(*function));
  const onnx::FunctionProto &proto = function->proto;
  function->attributes.insert(proto.attribute().begin(),
                              proto.attribute().end());
  for (const onnx::AttributeProto &standard : proto.attribute_proto())
    function->attributes.insert(standard.name());
  std::set<std::string> outputs(proto.output().begin(), proto.output().end());
  std::set<std::string> defined;
  auto define = [&](const std::string &name) {
    return name.empty() || defined.insert(name).second
               ? Status()
               : error("'" + name + "' is defined twice",
                       "check the model with onnx.checker");
  };
  for (const std::string &input : proto.input())
    DIST_RETURN_IF_ERROR(define(input));
  Nodes rest;
  for (onnx::NodeProto &node : *function->proto.mutable_node()) {
    for (const std::string &output : node.output())
      DIST_RETURN_IF_ERROR(define(output));
    bool refers = std::any_of(node.attribute().begin(), node.attribute().end(),
                              [](const onnx::AttributeProto &attribute) {
                                return !attribute.ref_attr_name().empty();
                              });
    if (find(node) || refers || !findOnnxConstant(&node) ||
        outputs.count(node.output(0))) {
      rest.Add()->Swap(&node);
      continue;
    }
    std::string name = fresh(proto.name() + "/" + node.output(0));
    function->constants.names[node.output(0)] = name;
    node.set_output(0, name);
    if (functionOf)
      functionOf->emplace(name, function->title);
    constants.Add()->Swap(&node);
  }
  function->proto.mutable_node()->Swap(&rest);
  return {};
}

void Inliner::take(const onnx::GraphProto &graph) {
  for (const onnx::ValueInfoProto &input : graph.input())
    taken.insert(input.name());
  for (const onnx::TensorProto &tensor : graph.initializer())
    taken.insert(tensor.name());
  for (const onnx::SparseTensorProto &tensor : graph.sparse_initializer())
    taken.insert(tensor.values().name());
  for (const onnx::NodeProto &node : graph.node()) {
    taken.insert(node.output().begin(), node.output().end());
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        take(attribute.g());
  }
}

std::string Inliner::fresh(const std::string &name) {
  std::string free = name;
  while (!taken.insert(free).second)
    free = name + "." + std::to_string(1 + ++repeats[name]);
  return free;
}

/// Counts a node that replaces a call, or a call.
Status Inliner::count(const onnx::NodeProto &node, uint64_t more) {
  bytes += node.ByteSizeLong();
  names += more;
  if (++nodes <= kMostNodes && bytes <= kMostBytes && names <= kMostNames)
    return {};
  return error("its functions are more than " + std::to_string(kMostNodes) +
               " nodes or " + std::to_string(kMostBytes >> 20) +
               " MiB when each call is written out");
}

Status Inliner::expand(onnx::GraphProto *graph) {
  Nodes before, after;
  before.Swap(graph->mutable_node());
  for (onnx::NodeProto &node : before)
    DIST_RETURN_IF_ERROR(expand(&node, &after));
  graph->mutable_node()->Swap(&after);
  return {};
}

/// The node itself, or what the function that it calls computes.
Status Inliner::expand(onnx::NodeProto *node, Nodes *out) {
  for (onnx::AttributeProto &attribute : *node->mutable_attribute()) {
    if (!attribute.has_g())
      continue;
    if (++branches > kMostBranches)
      return error("its branches are nested too deeply");
    DIST_RETURN_IF_ERROR(expand(attribute.mutable_g()));
    --branches;
  }
  if (Function *function = find(*node))
    return call(*node, function, out);
  if (functionOf && !active.empty())
    functionOf->emplace(keyOfOnnxNode(*node), active.back()->title);
  out->Add()->Swap(node);
  return {};
}

Status Inliner::call(const onnx::NodeProto &node, Function *function,
                     Nodes *out) {
  const onnx::FunctionProto &proto = function->proto;
  std::string key = nameOf(node);
  std::string caller = "node '" + key + "' calls function " + function->title;
  if (std::find(active.begin(), active.end(), function) != active.end())
    return error(caller + ", which calls itself");
  if (active.size() == kMostCalls)
    return error("its functions call each other too deeply");
  if (node.input_size() > proto.input_size() ||
      node.output_size() > proto.output_size())
    return error(caller + " with " + std::to_string(node.input_size()) +
                     " inputs and " + std::to_string(node.output_size()) +
                     " outputs, but it has " +
                     std::to_string(proto.input_size()) + " and " +
                     std::to_string(proto.output_size()),
                 "check the model with onnx.checker");
  active.push_back(function);
  DIST_RETURN_IF_ERROR(enter(function));
  DIST_RETURN_IF_ERROR(count(node, proto.input_size() + proto.output_size() +
                                       proto.attribute_proto_size()));

  Arguments arguments;
  for (const onnx::AttributeProto &standard : proto.attribute_proto())
    arguments[standard.name()] = &standard;
  for (const onnx::AttributeProto &given : node.attribute())
    if (function->attributes.count(given.name()))
      arguments[given.name()] = &given;
    else
      return error(caller + " with attribute '" + given.name() +
                       "', which it does not have",
                   "check the model with onnx.checker");

  std::string prefix = key.size() > kLongestPrefix ? proto.name() : key;
  prefix.resize(std::min(prefix.size(), kLongestPrefix));
  prefix += "/";
  Scope scope{&function->constants, {}};
  for (int i = 0; i < proto.input_size(); ++i)
    scope.names[proto.input(i)] = i < node.input_size() ? node.input(i) : "";
  // The node that gives an output has the call's name for it.
  std::map<std::string, std::string> given;
  for (int i = 0; i < node.output_size(); ++i)
    if (!node.output(i).empty())
      given.emplace(proto.output(i), node.output(i));
  for (const onnx::NodeProto &inner : proto.node())
    for (const std::string &output : inner.output())
      if (auto result = given.find(output); result != given.end())
        scope.names[output] = result->second;
      else if (!output.empty())
        scope.names[output] = fresh(prefix + output);
  for (const onnx::NodeProto &inner : proto.node()) {
    onnx::NodeProto copy;
    DIST_RETURN_IF_ERROR(place(inner, arguments, prefix, scope, &copy));
    DIST_RETURN_IF_ERROR(expand(&copy, out));
  }
  // What is given twice, or is an input.
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty())
      continue;
    const std::string *from = scope.find(proto.output(i));
    if (!from)
      return error("nothing computes its output '" + proto.output(i) + "'",
                   "check the model with onnx.checker");
    if (*from == node.output(i) || from->empty())
      continue;
    onnx::NodeProto *pass = out->Add();
    pass->set_op_type("Identity");
    pass->set_name(prefix + proto.output(i));
    pass->add_input(*from);
    pass->add_output(node.output(i));
    DIST_RETURN_IF_ERROR(count(*pass));
  }
  active.pop_back();
  return {};
}

/// A copy of a function's node in one of its calls.
Status Inliner::place(const onnx::NodeProto &inner, const Arguments &arguments,
                      const std::string &prefix, const Scope &scope,
                      onnx::NodeProto *copy) {
  *copy = inner;
  copy->clear_attribute();
  if (!copy->name().empty())
    copy->set_name(prefix + copy->name());
  auto rename = [&](std::string *name) {
    if (const std::string *found = scope.find(*name))
      *name = *found;
    else if (!name->empty())
      return error(copy->op_type() + " node '" + nameOf(inner) + "' reads '" +
                       *name + "', which nothing in it computes",
                   "check the model with onnx.checker");
    return Status();
  };
  for (std::string &input : *copy->mutable_input())
    DIST_RETURN_IF_ERROR(rename(&input));
  for (std::string &output : *copy->mutable_output())
    DIST_RETURN_IF_ERROR(rename(&output));
  for (const onnx::AttributeProto &attribute : inner.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      onnx::AttributeProto *own = copy->add_attribute();
      *own = attribute;
      if (own->has_g())
        DIST_RETURN_IF_ERROR(
            placeGraph(own->mutable_g(), arguments, prefix, scope));
      continue;
    }
    // One that is not given has its op's standard value.
    auto found = arguments.find(attribute.ref_attr_name());
    if (found == arguments.end())
      continue;
    onnx::AttributeProto *own = copy->add_attribute();
    *own = *found->second;
    own->set_name(attribute.name());
  }
  return count(*copy);
}

/// The same of the graph of a branch, which has names of its own and reads
/// those of the function.
Status Inliner::placeGraph(onnx::GraphProto *graph, const Arguments &arguments,
                           const std::string &prefix, const Scope &outer) {
  Scope scope{&outer, {}};
  auto define = [&](const std::string &name) {
    if (!name.empty() && !scope.names.count(name))
      scope.names[name] = fresh(prefix + name);
  };
  for (const onnx::ValueInfoProto &input : graph->input())
    define(input.name());
  for (const onnx::TensorProto &tensor : graph->initializer())
    define(tensor.name());
  for (const onnx::SparseTensorProto &tensor : graph->sparse_initializer())
    define(tensor.values().name());
  for (const onnx::NodeProto &node : graph->node())
    for (const std::string &output : node.output())
      define(output);
  auto use = [&](std::string *name) {
    if (const std::string *found = scope.find(*name))
      *name = *found;
  };
  for (onnx::ValueInfoProto &input : *graph->mutable_input())
    use(input.mutable_name());
  for (onnx::TensorProto &tensor : *graph->mutable_initializer())
    use(tensor.mutable_name());
  for (onnx::SparseTensorProto &tensor : *graph->mutable_sparse_initializer())
    use(tensor.mutable_values()->mutable_name());
  for (onnx::ValueInfoProto &output : *graph->mutable_output())
    use(output.mutable_name());
  for (onnx::ValueInfoProto &info : *graph->mutable_value_info())
    use(info.mutable_name());
  for (onnx::NodeProto &node : *graph->mutable_node()) {
    onnx::NodeProto copy;
    DIST_RETURN_IF_ERROR(place(node, arguments, prefix, scope, &copy));
    node.Swap(&copy);
  }
  return {};
}

Status Inliner::run() {
  if (model.functions_size() == 0)
    return {};
  DIST_RETURN_IF_ERROR(collect());
  for (const onnx::OperatorSetIdProto &set : model.opset_import())
    versions[standardName(set.domain())] = set.version();
  // A call's outputs name nodes, for which they must be no other branch's.
  nameOnnxBranchesApart(model.mutable_graph());
  take(model.graph());
  DIST_RETURN_IF_ERROR(expand(model.mutable_graph()));
  Nodes all;
  all.Swap(&constants);
  for (onnx::NodeProto &node : *model.mutable_graph()->mutable_node())
    all.Add()->Swap(&node);
  model.mutable_graph()->mutable_node()->Swap(&all);
  return {};
}

Status dist::inlineOnnxFunctions(onnx::ModelProto *model,
                                 const std::string &where,
                                 OnnxFunctionOfNode *functionOf) {
  return Inliner(model, where, functionOf).run();
}
