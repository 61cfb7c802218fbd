//===- OnnxAdvice.cpp - What an exporter may have dropped -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file exported for inference computes what its source computes, but trained
// it is another model: batch norm is folded into its neighbours, biases of
// zeros and dropout are gone. The signs of it are said, nothing is guessed.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxModel.h"
#include "runtime/formats/convert.h"
#include "runtime/formats/onnx_tensor.h"
#include "llvm/ADT/StringSet.h"
#include <optional>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

std::string mlir::dist::graph::listNames(ArrayRef<std::string> names) {
  std::string text;
  for (const std::string &name : names.take_front(3))
    text += (text.empty() ? "'" : ", '") + name + "'";
  if (names.size() > 3)
    text += " and " + std::to_string(names.size() - 3) + " more";
  return text;
}

/// Names that exporters leave where a batch norm was: `bn/batchnorm/mul_1`,
/// `conv_weights_fused_bn`, and `onnx::Conv_12` for a filter that was computed.
static bool tellsOfFolding(StringRef name) {
  return name.contains_insensitive("batchnorm/") || name.contains("fused_bn") ||
         name.starts_with("onnx::Conv_") ||
         name.starts_with("onnx::ConvTranspose_");
}

/// As errors call it.
static std::string labelOf(const onnx::NodeProto &node) {
  return node.name().empty() && node.output_size() ? node.output(0)
                                                   : node.name();
}

/// What rewrote the node when it was exported: PyTorch's exporter notes it.
static StringRef getRewrites(const onnx::NodeProto &node) {
  for (const onnx::StringStringEntryProto &entry : node.metadata_props())
    if (StringRef(entry.key()).contains("rewriter.rule_name"))
      return entry.value();
  return "";
}

/// Whether what the node gives has no derivative, whatever it reads.
static bool givesNumbers(const onnx::NodeProto &node) {
  static constexpr const char *known[] = {
      "ArgMax", "ArgMin", "Shape",   "Size",        "NonZero",
      "Equal",  "Less",   "Greater", "LessOrEqual", "GreaterOrEqual",
      "Not",    "And",    "Or",      "IsNaN",       "IsInf",
      "Sign",   "Floor",  "Ceil",    "Round"};
  if (node.op_type() != "Cast")
    return llvm::is_contained(known, StringRef(node.op_type()));
  return llvm::none_of(
      node.attribute(), [](const onnx::AttributeProto &attribute) {
        return attribute.name() == "to" &&
               ::dist::isFloat(::dist::fromOnnxType(int(attribute.i())));
      });
}

/// Values that a source replaced without their gradients.
static std::vector<std::string>
findReplaced(const onnx::GraphProto &graph,
             llvm::function_ref<bool(StringRef)> isParameter) {
  std::vector<std::string> replaced;
  llvm::StringSet<> trained;
  llvm::StringMap<const onnx::NodeProto *> makers;
  auto isTrained = [&](const std::string &name) {
    return trained.contains(name) || isParameter(name);
  };
  for (const onnx::NodeProto &node : graph.node()) {
    for (const std::string &output : node.output())
      makers[output] = &node;
    if (givesNumbers(node) || stopsGradient(node) ||
        llvm::none_of(node.input(), isTrained))
      continue;
    for (const std::string &output : node.output())
      trained.insert(output);
    // z + (q - z), which is q: nobody adds and subtracts for that alone.
    if (node.op_type() == "Add" && node.input_size() == 2)
      for (int i : {0, 1}) {
        const onnx::NodeProto *sub = makers.lookup(node.input(i));
        if (sub && sub->op_type() == "Sub" && sub->input_size() == 2 &&
            sub->input(1) == node.input(1 - i) && isTrained(sub->input(1)))
          replaced.push_back(labelOf(node));
      }
  }
  return replaced;
}

void OnnxModel::adviseOnExport() {
  if (source.hasOnlyWeights())
    return;
  const onnx::GraphProto &graph = model.graph();
  StringRef producer = model.producer_name();
  bool fromKeras = producer.contains("2onnx"),
       fromTorch = producer == "pytorch";
  std::string by =
      producer.empty() ? std::string("the exporter") : producer.str();
  llvm::StringMap<SmallVector<const onnx::NodeProto *, 1>> readers;
  bool hasDropout = false, isForTraining = false, isOptimized = false;
  forEachNode(graph, [&](const onnx::NodeProto &node) {
    hasDropout |= node.op_type() == "Dropout";
    for (const onnx::AttributeProto &attribute : node.attribute())
      isForTraining |= attribute.name() == "training_mode" && attribute.i();
    for (const std::string &input : node.input())
      readers[input].push_back(&node);
  });
  auto isParameter = [&](StringRef name) {
    auto it = trainability.find(name);
    return it != trainability.end() && it->second.trainable;
  };
  std::vector<std::string> replaced = findReplaced(graph, isParameter);
  if (!replaced.empty())
    notes.push_back(listNames(replaced) +
                    (replaced.size() > 1 ? " add" : " adds") +
                    " what was subtracted before: where the source detaches "
                    "the difference (a straight-through estimator), ONNX has "
                    "no word for it, and the gradient goes the other way here");
  std::vector<std::string> folded, stripped;
  // Products of one kind make a chain: those with a bias, and those without.
  struct Chain {
    unsigned biased = 0;
    std::vector<std::string> bare;
  } convolutions, products;
  forEachNode(graph, [&](const onnx::NodeProto &node) {
    StringRef op = node.op_type();
    bool isConv = op == "Conv" || op == "ConvTranspose";
    bool isProduct = op == "MatMul" || op == "Gemm";
    if (isConv || isProduct || op == "Add" || op == "Mul") {
      StringRef rewrites = getRewrites(node);
      bool isFused = rewrites.contains("FuseBatchNorm");
      isOptimized |= isFused;
      bool tells = tellsOfFolding(node.name()) || isFused;
      if (!tells && rewrites.contains("RemoveOptionalBias"))
        stripped.push_back(labelOf(node));
      for (const std::string &input : node.input())
        tells |= isParameter(input) && tellsOfFolding(input);
      if (tells)
        folded.push_back(labelOf(node));
    }
    if ((!isConv && !isProduct) || node.input_size() < 2 ||
        node.output_size() == 0 || !isParameter(node.input(1)))
      return;
    Chain &chain = isConv ? convolutions : products;
    bool biased = node.input_size() > 2 && !node.input(2).empty();
    // A bias of its own, or a normalization that makes it needless.
    for (const onnx::NodeProto *next : readers.lookup(node.output(0))) {
      biased |= StringRef(next->op_type()).contains("Normalization") ||
                tellsOfFolding(next->name());
      if (next->op_type() == "Add")
        for (const std::string &input : next->input())
          biased |= isParameter(input);
    }
    if (biased)
      ++chain.biased;
    else
      chain.bare.push_back(labelOf(node));
  });
  if (!folded.empty())
    notes.push_back("batch norm was folded by " + by + " into " +
                    listNames(folded) +
                    ": a scale and a shift are trained, not batch statistics; "
                    "export in training mode" +
                    (isOptimized ? " and with optimize=False" : "") +
                    " to train what the source does");
  for (const Chain *chain : {&convolutions, &products})
    if (chain->biased && !chain->bare.empty() && fromKeras)
      notes.push_back(listNames(chain->bare) +
                      (chain->bare.size() == 1 ? " has" : " have") +
                      " no bias, where other products of the model have one: "
                      "tf2onnx removes biases of zeros; if the source has "
                      "them, export it with biases that are not zero");
  if (!stripped.empty())
    notes.push_back(by + " removed biases of zeros from " +
                    listNames(stripped) +
                    ": they are not trained; if the source has them, export "
                    "it with optimize=False");
  if ((fromKeras || fromTorch) && !hasDropout && !isForTraining &&
      convolutions.biased + products.biased + convolutions.bare.size() +
              products.bare.size() >
          0)
    notes.push_back("the model has no Dropout: " + by +
                    " removes it when it exports for inference; if the source "
                    "has any, export in training mode");
}

/// The row of a table that is all zeros, if it is one among others that are
/// not: what padding_idx of PyTorch leaves, as no step changes it.
static std::optional<int64_t> findZeroRow(const ::dist::HostArray &table) {
  std::optional<int64_t> found;
  StringRef bytes(table.data, table.view().bytes());
  size_t size = bytes.size() / size_t(table.shape[0]);
  for (int64_t row = 0; row < table.shape[0]; ++row) {
    if (bytes.substr(size * row, size).find_first_not_of('\0') !=
        StringRef::npos)
      continue;
    if (found)
      return std::nullopt;
    found = row;
  }
  return found;
}

/// ONNX has no word for a row of a table that lookups leave untrained.
void OnnxModel::adviseOnPadding() {
  if (model.producer_name() != "pytorch")
    return;
  llvm::StringSet<> said;
  forEachNode(model.graph(), [&](const onnx::NodeProto &node) {
    auto table = trainability.find(node.input_size() ? node.input(0) : "");
    if (node.op_type() != "Gather" || table == trainability.end() ||
        !table->second.trainable)
      return;
    const ::dist::HostArray &array = initializers.find(table->getKey())->second;
    if (array.shape.size() != 2 || array.shape[0] < 2 || array.shape[1] < 1)
      return;
    std::optional<int64_t> row =
        source.isTold() ? OnnxSource::findPadding(node) : findZeroRow(array);
    if (!row || !said.insert(table->getKey()).second)
      return;
    notes.push_back(
        "row " + std::to_string(*row) + " of '" + table->getKey().str() +
        (source.isTold() ? "' is the source's padding_idx"
                         : "' is zeros, as padding_idx leaves it") +
        ", which the file does not have: it is trained here as any other; "
        "to keep it, multiply what is looked up by (tokens != " +
        std::to_string(*row) + ").unsqueeze(-1) in the source");
  });
}

/// Whether the rows along dim 0 have the same bits, and whether all elements
/// do.
static std::pair<bool, bool> compareRows(const ::dist::HostArray &array) {
  StringRef bytes(array.data, array.view().bytes());
  auto repeats = [&](size_t size) {
    return size > 0 && bytes.size() >= size &&
           bytes.drop_front(size) == bytes.drop_back(size);
  };
  return {repeats(bytes.size() / size_t(array.shape[0])),
          repeats(::dist::byteSize(array.type))};
}

/// A file of a fixed batch may have a parameter once for each example: a class
/// token that was repeated before it met the patches.
void OnnxModel::adviseOnRows() {
  int64_t batch = 0;
  for (const onnx::ValueInfoProto &input : model.graph().input()) {
    const auto &dims = input.type().tensor_type().shape().dim();
    if (!initializers.count(input.name()) && dims.size() > 0 && batch == 0)
      batch = dims[0].dim_value();
  }
  std::vector<std::string> repeated;
  for (const onnx::TensorProto &tensor : model.graph().initializer()) {
    auto found = trainability.find(tensor.name());
    if (batch < 2 || found == trainability.end() || !found->second.trainable ||
        found->second.users.empty())
      continue;
    const ::dist::HostArray &array = initializers.find(tensor.name())->second;
    if (array.shape.size() < 3 || array.shape[0] != batch)
      continue;
    auto [rows, all] = compareRows(array);
    // Zeros or ones of a shape [channels, 1, 1] say nothing.
    if (rows &&
        (!all || StringRef(found->second.users.front()).starts_with("Concat ")))
      repeated.push_back(tensor.name());
  }
  if (!repeated.empty())
    notes.push_back(listNames(repeated) +
                    (repeated.size() > 1 ? " have " : " has ") +
                    std::to_string(batch) +
                    " equal rows, one for each example of the batch that the "
                    "model was exported at: each is trained apart, where the "
                    "source has one parameter; export with a symbolic batch "
                    "dim (PyTorch: dynamic_shapes)");
}

/// A recurrent layer that takes the steps first may have their number for the
/// batch: what it trains on as examples are steps.
void OnnxModel::adviseOnSteps() {
  std::vector<std::string> found;
  std::string input;
  for (const onnx::NodeProto &node : model.graph().node()) {
    StringRef op = node.op_type();
    if ((op != "RNN" && op != "GRU" && op != "LSTM") || node.input_size() == 0)
      continue;
    bool batchFirst = llvm::any_of(
        node.attribute(), [](const onnx::AttributeProto &attribute) {
          return attribute.name() == "layout" && attribute.i() == 1;
        });
    auto argument =
        dyn_cast_or_null<BlockArgument>(values.lookup(node.input(0)));
    if (batchFirst || !argument ||
        argument.getOwner() != &function.getBody().front())
      continue;
    auto batchDim = function.getArgAttrOfType<IntegerAttr>(
        argument.getArgNumber(), kBatchDimAttr);
    if (!batchDim || batchDim.getInt() != 0)
      continue;
    found.push_back(labelOf(node));
    input = node.input(0);
  }
  if (!found.empty())
    notes.push_back(
        "dim 0 of '" + input +
        "', which is taken for the batch, is the steps "
        "of " +
        listNames(found) + ": batches would be cut from the sequences; " +
        (batchName && !batchName->empty()
             ? "give --dim " + *batchName + "=N and none for the batch, or "
             : std::string()) +
        "export with the batch first (PyTorch: batch_first=True)");
}

/// What normalizes by the batch in prediction: where the file wants that.
void OnnxModel::adviseOnBatchNorms() {
  std::vector<std::string> found;
  function.walk([&](BatchNormOp op) {
    if (auto name = dyn_cast<NameLoc>(op.getLoc()))
      found.push_back(name.getName().str());
  });
  if (!found.empty())
    notes.push_back(listNames(found) + (found.size() > 1 ? " are" : " is") +
                    " in training mode, and the model reads the moved "
                    "statistics or stores none: each batch is normalized by "
                    "itself, in prediction, too, and over all replicas, and "
                    "no moving statistics are trained; leave outputs that "
                    "read them out with --outputs NAME,..., or export for "
                    "inference (PyTorch: eval())");
}

static std::string listSizes(ArrayRef<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : ",") + std::to_string(size);
  return text;
}

/// `[4,n,3]`; a dim without a size or a name is `?`.
static std::string describeShape(const onnx::TensorShapeProto &shape) {
  std::string text;
  for (const auto &dim : shape.dim())
    text += (text.empty() ? "" : ",") +
            (dim.has_dim_value()       ? std::to_string(dim.dim_value())
             : dim.dim_param().empty() ? "?"
                                       : dim.dim_param());
  return "[" + text + "]";
}

void OnnxModel::adviseOnShape(const onnx::ValueInfoProto &output, Value value) {
  const auto &declared = output.type().tensor_type();
  // At another batch than the model was exported at, any dim may grow.
  if (!declared.has_shape() || batchFrom)
    return;
  ArrayRef<int64_t> shape = shapeOf(value);
  bool differs = declared.shape().dim_size() != int64_t(shape.size());
  for (int64_t d = 0; !differs && d < int64_t(shape.size()); ++d) {
    const auto &dim = declared.shape().dim(d);
    // Exporters leave the batch of their example there.
    bool isBatch = d == 0 && batchName && shape[d] == options.batchSize;
    differs = dim.has_dim_value() && dim.dim_value() > 0 &&
              dim.dim_value() != shape[d] && !isBatch;
  }
  if (!differs)
    return;
  // Of predictions, too, which print no notes.
  mlir::emitWarning(fileLocation)
      << "output '" << output.name() << "' has the shape [" << listSizes(shape)
      << "], but the file (" << path << ") says "
      << describeShape(declared.shape())
      << ": what was made for those sizes may not fit; check the file with "
         "onnx.checker (full_check)";
}
