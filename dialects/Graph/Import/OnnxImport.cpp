//===- OnnxImport.cpp - An ONNX graph as a function -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/ImportedFunction.h"
#include "dialects/Graph/Import/OnnxModel.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

int64_t OnnxModel::opsetOf(const onnx::NodeProto &node) const {
  auto it = opsets.find(node.domain() == "ai.onnx" ? "" : node.domain());
  return it == opsets.end() ? 0 : it->second;
}

Location OnnxModel::locOf(StringRef name) {
  return NameLoc::get(storage.getStringAttr(name));
}

static StringRef nameOf(const onnx::NodeProto &node) {
  if (!node.name().empty())
    return node.name();
  for (const std::string &output : node.output())
    if (!output.empty())
      return output;
  return node.op_type();
}

FailureOr<HostTensor> OnnxModel::readInitial(StringRef variable) {
  auto it = initializers.find(variable);
  if (it == initializers.end())
    return failure();
  return toHostTensor(getContext(), it->second);
}

Value OnnxModel::lookup(const std::string &name) {
  auto known = values.find(name);
  if (known != values.end())
    return known->second;
  auto it = initializers.find(name);
  if (it == initializers.end()) {
    auto bad = badInitializers.find(name);
    if (bad != badInitializers.end())
      (void)fail("initializer '" + name + "': " + bad->second);
    else
      (void)fail("its input '" + name + "' is not computed, or in a cycle",
                 "check the model with onnx.checker");
    return {};
  }
  // Numbers that are not trained are constants: kernels are made for them.
  // Those that training moves, of a normalization of one channel, are none.
  RankedTensorType type = toTensorType(getContext(), it->second);
  auto state = trainability.find(name);
  ElementsAttr initial = toElements(getContext(), name, it->second);
  OpBuilder::InsertionGuard guard(storage);
  // In the order of use, before all else.
  if (lastRead)
    storage.setInsertionPointAfter(lastRead);
  else
    storage.setInsertionPointToStart(&function.getBody().front());
  Location outer = loc;
  loc = locOf(name);
  Value value;
  if (state == trainability.end() ||
      (!state->second.trainable && state->second.group != "buffer" &&
       type.getNumElements() == 1)) {
    value = make<ConstantOp>({}, {attr("value", initial)});
  } else {
    value = make<ReadOp>(
        {}, {attr("variable", FlatSymbolRefAttr::get(getContext(), name))},
        type);
    storage.setInsertionPoint(function);
    SmallVector<NamedAttribute> attributes = {
        text("sym_name", name),         attr("type", TypeAttr::get(type)),
        attr("initial", initial),       text("group", state->second.group),
        text("why", state->second.why), text("graph.model_name", name)};
    if (state->second.trainable)
      attributes.push_back(attr("trainable", storage.getUnitAttr()));
    if (auto cut = shards.find(name); cut != shards.end())
      attributes.push_back(
          attr("graph.shards", storage.getDenseI64ArrayAttr(cut->second)));
    makeAll<VariableOp>({}, attributes);
  }
  loc = outer;
  if (value) {
    lastRead = value.getDefiningOp();
    values[name] = value;
  }
  return value;
}

/// Of a value whose examples lie along dim `at`: the dims that bring them to
/// the front.
static SmallVector<int64_t> permuteToFront(int64_t at, int64_t rank) {
  SmallVector<int64_t> permutation = {at};
  for (int64_t d = 0; d < rank; ++d)
    if (d != at)
      permutation.push_back(d);
  return permutation;
}

LogicalResult OnnxModel::beginFunction() {
  module = ModuleOp::create(fileLocation);
  (*module)->setAttr("graph.model_path", storage.getStringAttr(path));
  (*module)->setAttr("graph.model_format", storage.getStringAttr("onnx"));
  SmallVector<Type> types;
  SmallVector<NamedAttrList> attributes;
  SmallVector<std::string> names, moved;
  SmallVector<int64_t> movedFrom; // 0: it is where it was
  for (const onnx::ValueInfoProto &input : model.graph().input()) {
    if (initializers.count(input.name()) ||
        options.bindings.count(input.name()))
      continue;
    int64_t batchDim;
    FailureOr<RankedTensorType> type = inputType(input, &batchDim);
    if (failed(type))
      return failure();
    // Data have examples in front, whatever the model has.
    int64_t from = isBatchGiven ? 0 : std::max<int64_t>(batchDim, 0);
    if (from > 0) {
      *type = type->clone(applyPermutation(
          type->getShape(), permuteToFront(from, type->getRank())));
      moved.push_back(input.name());
      batchDim = 0;
    }
    types.push_back(*type);
    names.push_back(input.name());
    movedFrom.push_back(from);
    NamedAttrList &list = attributes.emplace_back();
    list.set(kRoleAttr, storage.getStringAttr("input"));
    list.set(kNameAttr, storage.getStringAttr(input.name()));
    if (batchDim >= 0)
      list.set(kBatchDimAttr, storage.getI64IntegerAttr(batchDim));
  }
  if (!moved.empty())
    notes.push_back(listNames(moved) +
                    (moved.size() > 1 ? " have their" : " has its") +
                    " batch in a dim behind the first: here examples are in "
                    "front, in data and in what is predicted");
  storage.setInsertionPointToEnd(module->getBody());
  function =
      func::FuncOp::create(storage, locOf(model.graph().name()), "predict",
                           storage.getFunctionType(types, {}));
  Block *block = function.addEntryBlock();
  for (auto [i, list] : llvm::enumerate(attributes)) {
    function.setArgAttrs(i, list.getDictionary(getContext()));
    BlockArgument argument = block->getArgument(i);
    argument.setLoc(locOf(names[i]));
    values[names[i]] = argument;
    if (auto dim = function.getArgAttrOfType<IntegerAttr>(i, kBatchDimAttr);
        tracker && dim)
      (void)tracker->add(argument, {unsigned(dim.getInt()), 1}); // it is new
  }
  storage.setInsertionPointToEnd(block);
  for (auto [i, from] : llvm::enumerate(movedFrom)) {
    if (from == 0)
      continue;
    loc = locOf(names[i]);
    BlockArgument argument = block->getArgument(i);
    Value value = transpose(argument, invertPermutationVector(permuteToFront(
                                          from, rankOf(argument))));
    if (!value)
      return failure();
    values[names[i]] = value;
  }
  for (const auto &[name, tensor] : options.bindings) {
    loc = locOf(name);
    values[name] = constant(tensor);
  }
  return success();
}

/// Counts steps for what draws random numbers: training advances it.
Value OnnxModel::stepCounter() {
  if (counter)
    return counter;
  counter = makeStepCounter(*this, storage, function);
  if (!lastRead && counter)
    lastRead = counter.getDefiningOp();
  return counter;
}

static bool isStandard(const onnx::NodeProto &node) {
  return node.domain().empty() || node.domain() == "ai.onnx";
}

static std::string describeUnknown(const onnx::NodeProto &node) {
  if (isStandard(node))
    return "the op is not supported";
  return "ops of the domain '" + node.domain() + "' are not supported";
}

/// The exporter's option that avoids it.
static std::string adviseOnUnknown(const onnx::NodeProto &node) {
  StringRef domain = node.domain();
  if (isStandard(node))
    return "see dist-opt --print-ops for those that are";
  if (domain.starts_with("ai.onnx.ml"))
    return "leave what it computes out with --outputs NAME,..., or export "
           "without it (skl2onnx: options={'zipmap': False})";
  if (domain.starts_with("com.microsoft"))
    return "give the model as it was before ONNX Runtime's optimizer";
  if (domain.contains("aten"))
    return "export with operator_export_type=OperatorExportTypes.ONNX or "
           "dynamo=True";
  if (domain.contains("tensorflow"))
    return "give tf2onnx a higher --opset, or write the op of others";
  return "no function of the model is of that name; export it without "
         "custom ops";
}

/// What --coverage and errors call a node's op.
static std::string opName(const onnx::NodeProto &node) {
  return (isStandard(node) ? "" : node.domain() + ".") + node.op_type();
}

Operation *OnnxModel::getLastOp() {
  Block &block = function.getBody().front();
  return block.empty() ? nullptr : &block.back();
}

LogicalResult OnnxModel::nodeError() {
  std::string reason = why, advice = todo;
  if (batchFrom) {
    reason += ", at a batch of " + std::to_string(plan->asked) +
              " of a model that was exported at " + std::to_string(batchFrom);
    advice = "give --batch-size " + std::to_string(batchFrom) +
             " and as many replicas as divide it, or export the model with a "
             "symbolic batch dim";
  }
  auto function = functionOf.find(::dist::keyOfOnnxNode(*failedNode));
  return error("cannot import " + opName(*failedNode) + " node '" +
                   nameOf(*failedNode) + "'" +
                   (function == functionOf.end()
                        ? ""
                        : " of function " + function->second) +
                   " (opset " + llvm::Twine(opsetOf(*failedNode)) + ")",
               reason, advice);
}

LogicalResult OnnxModel::importNode(const onnx::NodeProto &node) {
  begin(node, opsetOf(node), locOf(nameOf(node)), {});
  failedReads.assign(node.input().begin(), node.input().end());
  madeDim = -1;
  Operation *before = getLastOp();
  std::string emitted;
  ScopedDiagnosticHandler collect(getContext(), [&](Diagnostic &diagnostic) {
    if (emitted.empty() &&
        diagnostic.getSeverity() == DiagnosticSeverity::Error)
      emitted = diagnostic.str();
    return success();
  });
  auto fromDiagnostics = [&] {
    return fail(emitted.empty() ? "the op cannot be made" : emitted);
  };
  const OnnxOp *row = findOnnxOp(node.domain(), node.op_type(), opset);
  if (!row)
    return fail(describeUnknown(node), adviseOnUnknown(node));
  if (!row->import)
    return fail(row->reason ? row->reason : "the op is not supported",
                row->todo ? row->todo : "");
  unsigned count = node.input_size();
  while (count > 0 && node.input(count - 1).empty())
    --count;
  if (count < row->minInputs || count > row->maxInputs)
    return fail(
        "it has " + llvm::Twine(count) + " inputs, but " +
        (count < row->minInputs ? "at least " : "at most ") +
        llvm::Twine(count < row->minInputs ? row->minInputs : row->maxInputs) +
        " are expected");
  for (unsigned i = 0; i < count; ++i) {
    const std::string &name = node.input(i);
    if (name.empty() && i < row->minInputs)
      return fail("input " + llvm::Twine(i) + " is missing");
    Value value = name.empty() ? Value() : lookup(name);
    if (!name.empty() && !value)
      return why.empty() ? fromDiagnostics() : failure();
    inputs.push_back(value);
  }
  if (failed(row->import(*this)) || !emitted.empty())
    return why.empty() ? fromDiagnostics() : failure();
  if (!why.empty())
    return failure();
  // Until opset 6 a hint that buffers may be reused.
  ignore({"consumed_inputs"});
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (!askedAttributes.contains(attribute.name()))
      return fail("attribute '" + attribute.name() + "' is not known");
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty())
      continue;
    // An output that was not computed is an error at its first use.
    if (outputs[i]) {
      values[node.output(i)] = outputs[i];
    } else if (i == 0) {
      return fail("it has no result");
    }
  }
  return tracker ? followExamples(before) : success();
}

FailureOr<OwningOpRef<ModuleOp>> OnnxModel::import() {
  if (failed(beginFunction()))
    return failure();
  std::vector<bool> live = findLiveNodes();
  for (int i = 0; i < model.graph().node_size(); ++i)
    if (live[i] && failed(importAny(model.graph().node(i))))
      return nodeError();
  failedNode = nullptr;
  if (failed(finishFunction()))
    return failure();
  if (planError.empty())
    return std::move(module);
  // It fits at this batch by chance only.
  mlir::emitError(fileLocation) << planError;
  return failure();
}

LogicalResult OnnxModel::finishFunction() {
  SmallVector<Value> results;
  SmallVector<Type> types;
  SmallVector<NamedAttrList> attributes;
  for (const onnx::ValueInfoProto &output : model.graph().output()) {
    why.clear();
    todo.clear();
    failedReads = {output.name()};
    Value value = lookup(output.name());
    if (!value)
      return error("cannot import output '" + output.name() + "'",
                   "the node that computes it does not give it");
    const auto &declared = output.type().tensor_type();
    if (declared.elem_type() != 0 &&
        toElementType(getContext(), declared.elem_type()) != elementOf(value))
      return error("cannot import output '" + output.name() + "'",
                   "its declared element type is not that of its value");
    if (batchFrom && declared.shape().dim_size() > 0 &&
        declared.shape().dim(0).dim_value() == batchFrom &&
        (rankOf(value) == 0 || shapeOf(value)[0] != batchTo))
      return error(
          "cannot import output '" + output.name() + "'",
          "it does not grow with the batch: at " + llvm::Twine(plan->asked) +
              ", of a model that was exported "
              "at " +
              llvm::Twine(batchFrom) + ", it has " +
              llvm::Twine(rankOf(value) ? shapeOf(value)[0] : 1) + " rows",
          "give --batch-size " + llvm::Twine(batchFrom) +
              ", or export the model with a symbolic batch dim");
    adviseOnShape(output, value);
    NamedAttrList &list = attributes.emplace_back();
    list.set(kRoleAttr, storage.getStringAttr("output"));
    list.set(kNameAttr, storage.getStringAttr(output.name()));
    int64_t batch = -1;
    for (int i = 0; batchName && !batchName->empty() &&
                    i < declared.shape().dim_size() && i < rankOf(value);
         ++i)
      if (batch < 0 && declared.shape().dim(i).dim_param() == *batchName)
        batch = i;
    // Exporters that do not name the batch dim, or name it anew, put it first.
    bool named = batchName && !batchName->empty() && declared.has_shape();
    if (named && batchLeads && declared.shape().dim_size() > 0 &&
        declared.shape().dim(0).has_dim_param())
      named = options.dims.count(declared.shape().dim(0).dim_param()) > 0;
    if (batch < 0 && !named && options.batchSize && rankOf(value) > 0 &&
        shapeOf(value)[0] == options.batchSize)
      batch = 0;
    if (batch > 0 && !isBatchGiven) {
      loc = locOf(output.name());
      value = transpose(value, permuteToFront(batch, rankOf(value)));
      if (!value)
        return failure();
      batch = 0;
    }
    if (batch >= 0)
      list.set(kBatchDimAttr, storage.getI64IntegerAttr(batch));
    results.push_back(value);
    types.push_back(value.getType());
  }
  storage.setInsertionPointToEnd(&function.getBody().front());
  func::ReturnOp::create(storage, function.getLoc(), results);
  function.setType(
      storage.getFunctionType(function.getFunctionType().getInputs(), types));
  for (auto [i, list] : llvm::enumerate(attributes))
    function.setResultAttrs(i, list.getDictionary(getContext()));
  auto setList = [&](StringRef name, ArrayRef<Attribute> list) {
    if (!list.empty())
      (*module)->setAttr(name, storage.getArrayAttr(list));
  };
  adviseOnSteps();
  adviseOnBatchNorms();
  SmallVector<Attribute> texts;
  for (const std::string &note : notes)
    texts.push_back(storage.getStringAttr(note));
  setList(kNotes, texts);
  setList(kUntied, untied);
  eraseUnused(function);
  if (failed(verify(*module)))
    return failure();
  return success();
}

std::vector<CoverageRow> OnnxModel::coverage(bool complete) {
  std::vector<CoverageRow> rows;
  llvm::StringSet<> unknown;
  bool begun = complete && succeeded(beginFunction());
  for (const onnx::NodeProto &node : model.graph().node()) {
    CoverageRow &row = rows.emplace_back();
    row.node = nameOf(node).str();
    row.op = opName(node);
    row.opset = opsetOf(node);
    const OnnxOp *entry = findOnnxOp(node.domain(), node.op_type(), row.opset);
    std::string missing;
    for (const std::string &input : node.input())
      if (unknown.contains(input))
        missing = input;
    if (!begun || !missing.empty()) {
      // What can still be told is whether the op is in the table.
      row.supported = entry && entry->import;
      if (!row.supported)
        row.reason =
            entry && entry->reason ? entry->reason : describeUnknown(node);
      else if (begun)
        row.reason = "not tried: '" + missing + "' is not known";
    } else {
      Operation *before = getLastOp();
      row.supported = succeeded(importAny(node));
      row.reason = why;
      if (row.supported)
        describeOps(function.getBody().front(), before, row);
    }
    if (!row.supported || !missing.empty())
      for (const std::string &output : node.output())
        unknown.insert(output);
  }
  return rows;
}
