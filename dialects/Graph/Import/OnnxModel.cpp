//===- OnnxModel.cpp - Reading and checking an ONNX model -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxModel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Opsets that the op table knows the changes of.
static constexpr int64_t kFirstOpset = 1, kLastOpset = 28;
static constexpr int64_t kMaxBatch = int64_t(1) << 31;

OnnxModel::OnnxModel(MLIRContext *context, StringRef path, StringRef folder,
                     const ImportOptions &options)
    : BuilderStorage(context), OnnxNode(storage), options(options),
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

LogicalResult OnnxModel::error(const llvm::Twine &what, const llvm::Twine &why,
                               const llvm::Twine &todo) {
  std::string text = (what + " (" + path + "): " + why).str();
  if (std::string advice = todo.str(); !advice.empty())
    text += "; " + advice;
  mlir::emitError(fileLocation) << text;
  return failure();
}

LogicalResult OnnxModel::parse(StringRef bytes,
                               std::shared_ptr<const void> owner) {
  raw.owner = owner;
  ::dist::Status status = ::dist::parseOnnxModel(
      bytes, path, &model, owner ? &raw : nullptr, &functionOf);
  if (status.ok())
    return success();
  mlir::emitError(fileLocation) << status.message();
  return failure();
}

LogicalResult OnnxModel::check() {
  if (model.graph().output_size() == 0)
    return error("cannot import the model", "it has no output");
  ::dist::nameOnnxBranchesApart(model.mutable_graph());
  takeSequencesApart();
  sortNodes();
  if (failed(selectOutputs()))
    return failure();
  dropUnreadOutputs();
  if (failed(loadOpsets()))
    return failure();
  findConstantWeights();
  source = OnnxSource(model.graph());
  // Where all initializers are weights, constants are none in the source.
  if (source.hasOnlyWeights())
    constantWeights.clear();
  if (failed(loadInitializers(*model.mutable_graph())) ||
      failed(checkNames()) || failed(chooseBatch()) || failed(loadShards()) ||
      failed(untie()))
    return failure();
  trainability = findTrainable(model, initializers);
  applySource();
  ::dist::forEachOnnxGraph(model.mutable_graph(), [&](onnx::GraphProto *graph) {
    for (const onnx::SparseTensorProto &sparse : graph->sparse_initializer())
      if (auto found = trainability.find(sparse.values().name());
          found != trainability.end()) {
        found->second.trainable = false;
        found->second.why = "sparse in the file";
      }
  });
  describeSharing();
  if (failed(applyRegexes()))
    return failure();
  listFrozen();
  adviseOnExport();
  adviseOnRows();
  adviseOnPadding();
  return success();
}

LogicalResult OnnxModel::loadOpsets() {
  for (const onnx::OperatorSetIdProto &set : model.opset_import()) {
    std::string domain = set.domain() == "ai.onnx" ? "" : set.domain();
    opsets[domain] = set.version();
    if (domain.empty() &&
        (set.version() < kFirstOpset || set.version() > kLastOpset))
      return error("cannot import the model",
                   "opset " + llvm::Twine(set.version()) +
                       " is not one of 1 to 28",
                   "convert it with onnx.version_converter");
  }
  return success();
}

/// `index` is that of the initializers of the model's graph, -1 in a branch.
LogicalResult OnnxModel::loadInitializer(onnx::TensorProto &tensor, int index) {
  std::string name = tensor.name();
  if (name.empty())
    return error("cannot import the model", "an initializer has no name");
  if (::dist::fromOnnxType(tensor.data_type()) ==
      ::dist::manifest::DATA_TYPE_UNKNOWN) {
    badInitializers[name] = "elements of " +
                            ::dist::onnxTypeName(tensor.data_type()) +
                            " are not supported";
    return success();
  }
  ::dist::HostArray array;
  ::dist::Status status =
      index < 0 ? ::dist::takeOnnxTensor(tensor, files.get(), path, &array)
                : ::dist::takeOnnxInitializer(tensor, index, raw, files.get(),
                                              path, &array);
  if (!status.ok()) {
    mlir::emitError(fileLocation) << status.message();
    return failure();
  }
  return addInitializer(name, array);
}

LogicalResult OnnxModel::loadSparse(onnx::SparseTensorProto &sparse) {
  ::dist::HostArray array;
  ::dist::Status status =
      ::dist::takeOnnxSparse(sparse, files.get(), path, &array);
  if (status.ok())
    return addInitializer(sparse.values().name(), array);
  mlir::emitError(fileLocation) << status.message();
  return failure();
}

LogicalResult OnnxModel::addInitializer(const std::string &name,
                                        const ::dist::HostArray &array) {
  if (!isSaneShape(array.shape))
    return error("cannot import the model",
                 "initializer '" + name + "' is too large");
  auto known = initializers.find(name);
  auto bytesOf = [](const ::dist::HostArray &of) {
    return StringRef(of.data, of.view().bytes());
  };
  // Mergers of models leave the same one several times.
  if (known != initializers.end() &&
      (known->second.type != array.type || known->second.shape != array.shape ||
       bytesOf(known->second) != bytesOf(array)))
    return error("cannot import the model",
                 "two initializers are named '" + name + "'");
  initializers[name] = array;
  return success();
}

LogicalResult OnnxModel::loadInitializers(onnx::GraphProto &graph) {
  bool isWhole = &graph == &model.graph();
  for (int i = 0; i < graph.initializer_size(); ++i)
    if (failed(
            loadInitializer(*graph.mutable_initializer(i), isWhole ? i : -1)))
      return failure();
  for (onnx::SparseTensorProto &sparse : *graph.mutable_sparse_initializer())
    if (failed(loadSparse(sparse)))
      return failure();
  for (onnx::NodeProto &node : *graph.mutable_node())
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g() && failed(loadInitializers(*attribute.mutable_g())))
        return failure();
  return success();
}

LogicalResult OnnxModel::checkNames() {
  llvm::StringSet<> defined;
  for (const onnx::ValueInfoProto &input : model.graph().input())
    if (!defined.insert(input.name()).second)
      return error("cannot import the model",
                   "two inputs are named '" + input.name() + "'");
  for (const auto &entry : initializers)
    defined.insert(entry.getKey());
  for (const auto &entry : badInitializers)
    defined.insert(entry.getKey());
  for (const onnx::NodeProto &node : model.graph().node())
    for (const std::string &output : node.output())
      if (!output.empty() && !defined.insert(output).second)
        return error("cannot import the model",
                     "'" + output + "' is defined twice");
  llvm::StringSet<> outputs;
  for (const onnx::ValueInfoProto &output : model.graph().output()) {
    if (!defined.count(output.name()))
      return error("cannot import the model",
                   "nothing computes output '" + output.name() + "'");
    if (!outputs.insert(output.name()).second)
      return error("cannot import the model",
                   "two outputs are named '" + output.name() + "'");
  }
  for (const auto &[name, value] : options.bindings) {
    bool found = false;
    for (const onnx::ValueInfoProto &input : model.graph().input())
      found |= input.name() == name;
    if (!found)
      return error("cannot bind an input",
                   "the model has no input '" + name + "'");
  }
  return success();
}

/// The names of the inputs' dims, each once.
static SmallVector<std::string> listDimNames(const onnx::GraphProto &graph) {
  SmallVector<std::string> names;
  for (const onnx::ValueInfoProto &input : graph.input())
    for (const auto &dim : input.type().tensor_type().shape().dim())
      if (!dim.dim_param().empty() &&
          !llvm::is_contained(names, dim.dim_param()))
        names.push_back(dim.dim_param());
  return names;
}

LogicalResult OnnxModel::chooseBatch() {
  // The size of a dim that there is not would be ignored.
  SmallVector<std::string> names = listDimNames(model.graph());
  for (const auto &given : options.dims)
    if (!llvm::is_contained(names, given.first))
      return error("bad --dim '" + given.first + "'",
                   "no input has a dim of that name",
                   names.empty() ? "leave it out: no dim has a name"
                                 : "the inputs' dims are named '" +
                                       llvm::join(names, "', '") + "'");
  // Whether some input (not all: axes and scales have no batch) is of that
  // size.
  bool fixed = false;
  std::optional<int64_t> first;
  for (const onnx::ValueInfoProto &input : model.graph().input()) {
    if (initializers.count(input.name()) ||
        options.bindings.count(input.name()))
      continue;
    const auto &dims = input.type().tensor_type().shape().dim();
    for (const auto &[at, dim] : llvm::enumerate(dims)) {
      if (dim.has_dim_value() && dim.dim_value() > 0)
        continue;
      // One that --dim names is the batch only where there is no other.
      bool isGiven = options.dims.count(dim.dim_param()) > 0;
      if (!batchName || (isBatchGiven && !isGiven)) {
        batchName = dim.dim_param();
        batchLeads = at == 0;
        isBatchGiven = isGiven;
      }
    }
    if (dims.size() == 0 || !dims[0].has_dim_value())
      continue;
    fixed |= dims[0].dim_value() == options.batchSize;
    if (!first)
      first = dims[0].dim_value();
  }
  if (options.batchSize < 0 || options.batchSize > kMaxBatch)
    return error("cannot import the model", "a batch of " +
                                                llvm::Twine(options.batchSize) +
                                                " is not possible");
  if (options.batchSize && isBatchGiven &&
      options.dims.at(*batchName) != options.batchSize)
    notes.push_back("--dim " + *batchName + "=" +
                    std::to_string(options.dims.at(*batchName)) +
                    " is the size of the batch, and not --batch-size");
  if (!options.batchSize || batchName || fixed)
    return success();
  if (!first || *first < 1)
    return error("cannot import the model",
                 "its inputs have no dim that a batch of " +
                     llvm::Twine(options.batchSize) + " could have",
                 "leave --batch-size out, or export the model with a symbolic "
                 "batch dim");
  batchFrom = *first;
  batchTo = options.batchSize;
  if (!plan) {
    plan = std::make_shared<BatchPlan>();
    plan->asked = batchTo;
  }
  notes.push_back("the model was exported at a batch of " +
                  std::to_string(batchFrom) + ", and is used at " +
                  std::to_string(batchTo));
  return success();
}

FailureOr<RankedTensorType>
OnnxModel::inputType(const onnx::ValueInfoProto &input, int64_t *batchDim) {
  std::string what = "cannot import input '" + input.name() + "'";
  if (!input.type().has_tensor_type())
    return error(what, "it is no tensor (a sequence, a map or an optional)",
                 "only models of tensors are supported");
  const auto &tensor = input.type().tensor_type();
  Type element = toElementType(getContext(), tensor.elem_type());
  if (!element)
    return error(what, "elements of " +
                           ::dist::onnxTypeName(tensor.elem_type()) +
                           " are not supported");
  if (!tensor.has_shape())
    return error(what, "its shape is not in the file",
                 "export the model with shapes");
  SmallVector<int64_t> shape;
  *batchDim = -1;
  for (const auto &dim : tensor.shape().dim()) {
    int64_t at = shape.size();
    // A zero is an empty tensor when said so, and unknown when negative.
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      shape.push_back(at == 0 && batchFrom && dim.dim_value() == batchFrom
                          ? batchTo
                          : dim.dim_value());
      continue;
    }
    const std::string &name = dim.dim_param();
    auto given = options.dims.find(name);
    // Exporters that trace input by input name the one batch anew at each.
    bool isBatch =
        batchName && (name == *batchName ||
                      (batchLeads && at == 0 && given == options.dims.end()));
    if (isBatch && *batchDim < 0)
      *batchDim = at;
    if (!name.empty() && given != options.dims.end())
      shape.push_back(given->second);
    else if (isBatch && options.batchSize)
      shape.push_back(options.batchSize);
    else if (assumedSize)
      shape.push_back(assumedSize);
    else if (isBatch)
      return error(what,
                   "dim " + llvm::Twine(at) +
                       (name.empty() ? "" : " '" + name + "'") + " is symbolic",
                   "give --batch-size N");
    else if (name.empty())
      return error(what, "dim " + llvm::Twine(at) + " has no size and no name",
                   "export the model with a name or a size there");
    else
      return error(what,
                   "dim " + llvm::Twine(at) + " '" + name + "' is symbolic",
                   "give --dim " + name + "=N");
  }
  // Without a symbolic dim, a first dim of --batch-size is the batch; an input
  // of another size (a scale, indices) has none.
  if (!batchName && options.batchSize && !shape.empty() &&
      shape[0] == options.batchSize)
    *batchDim = 0;
  if (!isSaneShape(shape))
    return error(what, "its shape is impossible");
  return RankedTensorType::get(shape, element);
}

LogicalResult OnnxModel::applyRegexes() {
  auto apply = [&](StringRef option, StringRef text, bool train) {
    if (text.empty())
      return success();
    llvm::Regex regex(text);
    std::string problem;
    if (!regex.isValid(problem))
      return error("bad --" + option + " '" + text + "'", problem);
    bool any = false, statistics = false;
    for (auto &entry : trainability) {
      if (!regex.match(entry.getKey()))
        continue;
      // Statistics are moved by what passes: no gradient is for them to take.
      if (train && entry.second.group == "buffer") {
        statistics = true;
        continue;
      }
      any = true;
      entry.second.trainable = train;
      // States and files of weights have no constants.
      if (train)
        entry.second.group = "parameter";
      entry.second.byUser = true;
      entry.second.why = ("--" + option + " " + text).str();
    }
    return any ? success()
               : error("bad --" + option + " '" + text + "'",
                       statistics
                           ? "it matches moving statistics alone, which no "
                             "gradient changes"
                           : "it matches no variable of the model");
  };
  if (failed(apply("train", options.trainRegex, true)))
    return failure();
  return apply("freeze", options.freezeRegex, false);
}
