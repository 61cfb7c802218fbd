//===- TensorFlowImport.cpp - A TensorFlow signature as a function ------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/ImportedFunction.h"
#include "dialects/Graph/Import/TensorFlowModel.h"
#include "mlir/IR/Verifier.h"
#include "runtime/formats/tensorflow_model.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// What no model needs, and hostile files would fill memory or stack with.
static constexpr unsigned kMostNodes = 1 << 20, kMostDepth = 48;

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

const TensorFlowModel::Graph *
TensorFlowModel::findFunction(StringRef name) const {
  auto it = functions.find(name);
  return it == functions.end() ? nullptr : &it->second;
}

/// A function's results are lists of their own, named by its signature; an
/// op's by its table.
FailureOr<unsigned> TensorFlowModel::findResult(Frame &frame,
                                                const tensorflow::NodeDef &of,
                                                const Reference &reference,
                                                size_t count) {
  unsigned index = reference.index;
  if (!reference.result.empty()) {
    if (const Graph *called = findFunction(of.op())) {
      for (auto [i, result] :
           llvm::enumerate(called->function->signature().output_arg()))
        if (result.name() == reference.result)
          index = i;
    } else if (const TensorFlowOp *row = findTensorFlowOp(of.op());
               row && !row->results.empty()) {
      SmallVector<StringRef> names;
      row->results.split(names, ',');
      auto it = llvm::find(names, reference.result);
      if (it == names.end())
        return fail("its input '" + reference.name + ":" + reference.result +
                    "' is no result of " + of.op());
      index = unsigned(it - names.begin()) + reference.index;
    }
  }
  if (index >= count)
    return fail("its input is result " + llvm::Twine(index) + " of '" +
                of.name() + "' (" + of.op() + "), which has " +
                llvm::Twine(count));
  return index;
}

FailureOr<TensorFlowItem> TensorFlowModel::lookup(Frame &frame,
                                                  StringRef input) {
  Reference reference = parseReference(input);
  auto argument = frame.arguments.find(reference.name);
  if (argument != frame.arguments.end())
    return argument->second;
  auto place = frame.graph.places.find(reference.name);
  if (place == frame.graph.places.end())
    return fail("its input '" + input + "' is not in the file");
  auto known = frame.results.find(place->second);
  if (known == frame.results.end())
    return fail(isCoverage ? "not tried: '" + reference.name + "' is not known"
                           : "its input '" + input + "' is not computed");
  FailureOr<unsigned> index =
      findResult(frame, (*frame.graph.nodes)[place->second], reference,
                 known->second.size());
  if (failed(index))
    return failure();
  return known->second[*index];
}

/// Whether a node is run for what it does, where only control edges lead to it.
static bool changesState(StringRef op) {
  return op == "AssignVariableOp" || op == "AssignAddVariableOp" ||
         op == "AssignSubVariableOp" || op == "Assign" || op == "AssignAdd" ||
         op == "AssignSub";
}

LogicalResult TensorFlowModel::importTo(Frame &frame,
                                        ArrayRef<std::string> wanted) {
  // 0: unseen, 1: its inputs are being imported, 2: done.
  SmallVector<char> state(frame.graph.nodes->size(), 0);
  std::vector<std::pair<int, int>> stack;
  auto push = [&](StringRef input) -> LogicalResult {
    Reference reference = parseReference(input);
    if (frame.arguments.count(reference.name))
      return success();
    auto place = frame.graph.places.find(reference.name);
    if (place == frame.graph.places.end())
      return fail("'" + reference.name + "' is not in the file");
    const tensorflow::NodeDef &next = (*frame.graph.nodes)[place->second];
    if (reference.isControl && !changesState(next.op()))
      return success();
    char &seen = state[place->second];
    if (seen == 1)
      return fail("node '" + next.name() + "' (" + next.op() +
                      ") needs its own result: it is in a cycle",
                  "loops as TF1 writes them are not supported; save the model "
                  "with TensorFlow 2's control flow");
    if (seen == 0 && !frame.results.count(place->second)) {
      seen = 1;
      stack.push_back({place->second, 0});
    }
    return success();
  };
  SmallVector<std::string> roots(wanted);
  // What a function assigns is part of calling it.
  if (frame.graph.function)
    for (const tensorflow::NodeDef &node : *frame.graph.nodes)
      if (changesState(node.op()))
        roots.push_back(node.name());
  for (const std::string &root : roots) {
    if (failed(push(root)))
      return failure();
    while (!stack.empty()) {
      auto &[place, input] = stack.back();
      const tensorflow::NodeDef &next = (*frame.graph.nodes)[place];
      if (input < next.input_size()) {
        if (failed(push(next.input(input++))))
          return failure();
        continue;
      }
      int done = place;
      stack.pop_back();
      state[done] = 2;
      if (failed(importNode(frame, done)))
        return failure();
    }
  }
  return success();
}

void TensorFlowModel::recordFailure(const Frame &frame) {
  if (!failedWhat.empty())
    return;
  failedWhat = "cannot import " + node->op() + " node '" + node->name() + "'";
  if (frame.graph.function)
    failedWhat += " of function " + frame.graph.function->signature().name();
}

LogicalResult TensorFlowModel::importNode(Frame &frame, int place) {
  // Calls come back here: what is of the outer node is kept.
  const tensorflow::NodeDef *outerNode = node;
  const onnx::NodeProto *outerProto = proto;
  TensorFlowItems outerItems = std::move(items),
                  outerResults = std::move(results);
  SmallVector<Value> outerInputs = std::move(inputs);
  Location outerLoc = loc;
  llvm::scope_exit restore([&] {
    node = outerNode;
    proto = outerProto;
    items = std::move(outerItems);
    results = std::move(outerResults);
    inputs = std::move(outerInputs);
    loc = outerLoc;
  });
  node = &(*frame.graph.nodes)[place];
  items.clear();
  results.clear();
  // For the names of inputs in errors.
  onnx::NodeProto stand;
  stand.set_op_type(node->op());
  for (const std::string &input : node->input())
    if (!StringRef(input).starts_with("^"))
      stand.add_input(input);
  begin(stand, 0, NameLoc::get(storage.getStringAttr(node->name())), {});
  size_t row = rows.size();
  if (isCoverage) {
    rows.emplace_back();
    rows[row].node = node->name();
    rows[row].op = node->op();
  }
  Block &block = function.getBody().front();
  Operation *before = block.empty() ? nullptr : &block.back();
  LogicalResult ran = runNode(frame);
  if (isCoverage) {
    rows[row].supported = succeeded(ran);
    rows[row].reason = why;
    if (succeeded(ran)) {
      // A call's nodes have rows of their own.
      if (rows.size() == row + 1)
        describeOps(block, before, rows[row]);
      frame.results[place] = std::move(results);
    }
    why.clear();
    todo.clear();
    failedWhat.clear();
    return success();
  }
  if (failed(ran)) {
    recordFailure(frame);
    return failure();
  }
  frame.results[place] = std::move(results);
  return success();
}

LogicalResult TensorFlowModel::runNode(Frame &frame) {
  if (++imported > kMostNodes)
    return fail("the functions and loops are more than " +
                llvm::Twine(kMostNodes) +
                " nodes when each call and round is written out");
  std::string emitted;
  ScopedDiagnosticHandler collect(getContext(), [&](Diagnostic &diagnostic) {
    if (emitted.empty() &&
        diagnostic.getSeverity() == DiagnosticSeverity::Error)
      emitted = diagnostic.str();
    return success();
  });
  for (const std::string &input : node->input()) {
    if (StringRef(input).starts_with("^"))
      continue;
    FailureOr<TensorFlowItem> item = lookup(frame, input);
    if (failed(item))
      return failure();
    inputs.push_back(item->value);
    items.push_back(*item);
  }
  hasShapes |=
      node->op() == "Shape" || node->op() == "Size" || node->op() == "ShapeN";
  if (findFunction(node->op())) {
    FailureOr<TensorFlowItems> made = call(node->op(), items);
    if (failed(made))
      return failure();
    results = std::move(*made);
    return success();
  }
  const TensorFlowOp *row = findTensorFlowOp(node->op());
  if (!row)
    return fail("the op is not supported",
                "leave what it computes out with --outputs NAME,..., or write "
                "the model without it");
  if (inputs.size() < row->minInputs)
    return fail("it has " + llvm::Twine(inputs.size()) +
                " inputs, but at least " + llvm::Twine(row->minInputs) +
                " are expected");
  for (unsigned i = 0; i < row->minInputs; ++i)
    if (!items[i].value && items[i].variable < 0 && !items[i].list)
      return fail("its input '" + proto->input(i) +
                  "' is no tensor of numbers (a string, a table or another "
                  "thing of the host)");
  LogicalResult ran = row->import(*this);
  if (succeeded(ran) && emitted.empty() && why.empty())
    return success();
  return fail(emitted.empty() ? "the op cannot be made" : emitted);
}

FailureOr<TensorFlowItems>
TensorFlowModel::call(StringRef name, ArrayRef<TensorFlowItem> arguments) {
  const Graph *called = findFunction(name);
  if (!called)
    return fail("function '" + name + "' is not in the file");
  if (depth >= kMostDepth)
    return fail("functions call each other more than " +
                llvm::Twine(kMostDepth) + " deep");
  const tensorflow::OpDef &signature = called->function->signature();
  if (size_t(signature.input_arg_size()) != arguments.size())
    return fail("function '" + name + "' takes " +
                llvm::Twine(signature.input_arg_size()) + " arguments, but " +
                llvm::Twine(arguments.size()) + " are given");
  Frame frame(*called);
  for (auto [parameter, argument] :
       llvm::zip_equal(signature.input_arg(), arguments))
    frame.arguments[parameter.name()] = argument;
  SmallVector<std::string> wanted;
  for (const auto &result : signature.output_arg()) {
    auto it = called->function->ret().find(result.name());
    if (it == called->function->ret().end())
      return fail("function '" + name + "' does not say what its result '" +
                  result.name() + "' is");
    wanted.push_back(it->second);
  }
  ++depth;
  llvm::scope_exit leave([&] { --depth; });
  if (failed(importTo(frame, wanted)))
    return failure();
  TensorFlowItems made;
  for (const std::string &text : wanted) {
    FailureOr<TensorFlowItem> item = lookup(frame, text);
    if (failed(item))
      return failure();
    made.push_back(*item);
  }
  return made;
}

LogicalResult TensorFlowModel::importConst() {
  if (auto known = variableOf.find(node->name());
      isFrozen && depth == 0 && known != variableOf.end())
    return result(readVariable(known->second));
  const tensorflow::AttrValue *value = attribute("value");
  if (!value || !value->has_tensor())
    return fail("it has no value");
  // Strings are for the host, and fail where a tensor is needed.
  if (::dist::fromTensorFlowType(value->tensor().dtype()) ==
      ::dist::manifest::DATA_TYPE_UNKNOWN)
    return give(0, {});
  ::dist::HostArray array;
  ::dist::Status status =
      ::dist::takeTensorFlowTensor(value->tensor(), "value", &array);
  if (!status.ok())
    return fail(status.message());
  ElementsAttr elements = toElements(getContext(), node->name(), array);
  if (!elements)
    return fail("its shape is impossible");
  return result(make<ConstantOp>({}, {attr("value", elements)}));
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> TensorFlowModel::inputType(const Port &port,
                                                       int64_t *batchDim) {
  std::string what = "cannot import input '" + port.name + "'";
  Type element = toType(port.type);
  if (!element) {
    std::string reason = std::exchange(why, "");
    return error(what, reason);
  }
  if (port.shape.unknown_rank())
    return error(what, "its shape is not in the file",
                 "save the model with an input signature (tf.TensorSpec)");
  SmallVector<int64_t> shape;
  *batchDim = -1;
  for (auto [at, dim] : llvm::enumerate(port.shape.dim())) {
    std::string name = port.name + "." + std::to_string(at);
    auto given = options.dims.find(name);
    if (dim.size() >= 0) {
      shape.push_back(dim.size());
    } else if (at == 0 && given == options.dims.end()) {
      hasBatch = true;
      *batchDim = 0;
      if (!options.batchSize && !assumedSize)
        return error(what, "dim 0 is open", "give --batch-size N");
      shape.push_back(options.batchSize ? options.batchSize : assumedSize);
    } else if (given != options.dims.end()) {
      shape.push_back(given->second);
    } else if (assumedSize) {
      shape.push_back(assumedSize);
    } else {
      return error(what, "dim " + llvm::Twine(at) + " is open",
                   "give --dim " + name + "=N");
    }
  }
  if (*batchDim < 0 && options.batchSize && !shape.empty() &&
      shape[0] == options.batchSize)
    *batchDim = 0;
  if (!isSaneShape(shape))
    return error(what, "its shape is impossible");
  return RankedTensorType::get(shape, element);
}

LogicalResult TensorFlowModel::beginFunction() {
  module = ModuleOp::create(fileLocation);
  (*module)->setAttr("graph.model_path", storage.getStringAttr(path));
  (*module)->setAttr("graph.model_format", storage.getStringAttr("tensorflow"));
  for (const auto &[name, value] : options.bindings)
    if (llvm::none_of(inputPorts, [&, &name = name](const Port &port) {
          return port.name == name;
        }))
      return error("cannot bind an input",
                   "the model has no input '" + name + "'");
  llvm::StringSet<> dimNames;
  for (const Port &port : inputPorts)
    for (int i = 0; i < port.shape.dim_size(); ++i)
      dimNames.insert(port.name + "." + std::to_string(i));
  for (const auto &given : options.dims)
    if (!dimNames.contains(given.first))
      return error("bad --dim '" + given.first + "'",
                   "no input has a dim of that name",
                   "a dim is named by its input and its number, as in "
                   "--dim x.1=N");
  SmallVector<Type> types;
  SmallVector<NamedAttrList> attributes;
  bool fits = false;
  for (const Port &port : inputPorts) {
    if (options.bindings.count(port.name))
      continue;
    int64_t batchDim;
    FailureOr<RankedTensorType> type = inputType(port, &batchDim);
    if (failed(type))
      return failure();
    types.push_back(*type);
    NamedAttrList &list = attributes.emplace_back();
    list.set(kRoleAttr, storage.getStringAttr("input"));
    list.set(kNameAttr, storage.getStringAttr(port.name));
    fits |= batchDim >= 0;
    if (batchDim >= 0)
      list.set(kBatchDimAttr, storage.getI64IntegerAttr(batchDim));
  }
  if (options.batchSize && !fits && !types.empty())
    return error("cannot import the model",
                 "its inputs have no dim that a batch of " +
                     llvm::Twine(options.batchSize) + " could have",
                 "give the --batch-size that it was saved at, or save it with "
                 "an open first dim (None)");
  storage.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(storage, fileLocation, "predict",
                                  storage.getFunctionType(types, {}));
  Block *block = function.addEntryBlock();
  storage.setInsertionPointToEnd(block);
  for (auto [i, list] : llvm::enumerate(attributes))
    function.setArgAttrs(i, list.getDictionary(getContext()));
  return success();
}

FailureOr<OwningOpRef<ModuleOp>> TensorFlowModel::import() {
  if (failed(beginFunction()))
    return failure();
  // The placeholders are what the function takes.
  Frame frame(graph);
  unsigned next = 0;
  for (const Port &port : inputPorts) {
    StringRef placeholder = parseReference(port.tensor).name;
    loc = NameLoc::get(storage.getStringAttr(port.name));
    auto bound = options.bindings.find(port.name);
    Value value = bound == options.bindings.end()
                      ? Value(function.getArgument(next++))
                      : constant(bound->second);
    if (!value)
      return failure();
    if (auto argument = dyn_cast<BlockArgument>(value))
      argument.setLoc(loc);
    frame.arguments[placeholder].value = value;
  }
  SmallVector<std::string> wanted;
  for (const Port &port : outputPorts)
    wanted.push_back(port.tensor);
  if (failed(importTo(frame, wanted))) {
    std::string what =
        failedWhat.empty() ? "cannot import the model" : failedWhat;
    return error(what, why, todo);
  }
  if (isCoverage)
    return std::move(module);
  SmallVector<Value> values;
  SmallVector<Type> types;
  for (const Port &port : outputPorts) {
    why.clear();
    FailureOr<TensorFlowItem> item = lookup(frame, port.tensor);
    if (failed(item) || !item->value)
      return error("cannot import output '" + port.name + "'",
                   why.empty() ? "it is no tensor of numbers" : why,
                   "leave it out with --outputs NAME,...");
    values.push_back(item->value);
    types.push_back(item->value.getType());
  }
  storage.setInsertionPointToEnd(&function.getBody().front());
  func::ReturnOp::create(storage, function.getLoc(), values);
  function.setType(
      storage.getFunctionType(function.getFunctionType().getInputs(), types));
  for (auto [i, port] : llvm::enumerate(outputPorts)) {
    NamedAttrList list;
    list.set(kRoleAttr, storage.getStringAttr("output"));
    list.set(kNameAttr, storage.getStringAttr(port.name));
    ArrayRef<int64_t> shape = shapeOf(values[i]);
    // As the signature says, and where it says nothing, by size.
    bool grows = port.shape.dim_size() > 0 && port.shape.dim(0).size() < 0;
    if (!shape.empty() && options.batchSize && shape[0] == options.batchSize &&
        (grows || port.shape.unknown_rank() || !hasBatch))
      list.set(kBatchDimAttr, storage.getI64IntegerAttr(0));
    function.setResultAttrs(i, list.getDictionary(getContext()));
  }
  if (failed(finishFunction()))
    return failure();
  return std::move(module);
}

LogicalResult TensorFlowModel::finishFunction() {
  eraseUnused(function);
  bool isUnsure = isFrozen && !variables.empty();
  for (auto variable : module->getOps<VariableOp>())
    isUnsure |= variable.getWhy() &&
                variable.getWhy()->starts_with("the file does not say what");
  if (isUnsure)
    notes.push_back(
        isFrozen ? "a frozen graph does not say what was trained: tables that "
                   "layers read are, moving statistics among them where their "
                   "names do not tell; leave some out with --freeze REGEX"
                 : "the file does not say which variables are trained: all of "
                   "floats are; leave some out with --freeze REGEX");
  SmallVector<Attribute> texts;
  for (const std::string &note : notes)
    texts.push_back(storage.getStringAttr(note));
  if (!texts.empty())
    (*module)->setAttr(kNotes, storage.getArrayAttr(texts));
  return failure(failed(verify(*module)));
}

std::vector<CoverageRow> TensorFlowModel::coverage() {
  isCoverage = true;
  (void)import();
  return rows;
}
