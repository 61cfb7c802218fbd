//===- OnnxSource.cpp - What a file tells of its source -------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxSource.h"
#include "dialects/Graph/Import/OnnxModel.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
constexpr char kSignature[] =
    "pkg.torch.export.ExportedProgram.graph_signature";
/// Of examples/export: "weights".
constexpr char kInitializers[] = "dist.initializers";
constexpr char kFoldedFrom[] = "pkg.onnxscript.optimizer.folded_from";
constexpr char kNode[] = "pkg.torch.onnx.fx_node";
/// Of examples/export/pytorch_to_onnx.py.
constexpr char kStops[] = "dist.stop_gradient";
constexpr char kRewritten[] = "pkg.onnxscript.rewriter.rule_name";

/// PyTorch's ops that only change the form of their operand, and that fill.
constexpr const char *kForms[] = {"t",        "transpose", "permute", "view",
                                  "reshape",  "unsqueeze", "squeeze", "clone",
                                  "alias",    "detach",    "flatten", "expand",
                                  "_to_copy", "unflatten", "zeros"};
/// And those that make tensors of numbers alone.
constexpr const char *kNumbers[] = {
    "zeros", "ones",     "full",      "zeros_like",    "ones_like", "full_like",
    "eye",   "new_ones", "new_zeros", "scalar_tensor", "new_full",  "arange"};
} // namespace

template <typename Entries>
static StringRef findNote(const Entries &entries, StringRef key) {
  for (const auto &entry : entries)
    if (entry.key() == key)
      return entry.value();
  return "";
}

bool mlir::dist::graph::stopsGradient(const onnx::NodeProto &node) {
  return node.op_type() == "Identity" &&
         (!findNote(node.metadata_props(), kStops).empty() ||
          findNote(node.metadata_props(), kNode).contains("aten.detach"));
}

/// `name_12` -> `name`.
static StringRef dropNumber(StringRef name) {
  StringRef stem = name.rtrim("0123456789");
  return stem.size() < name.size() && stem.ends_with("_") ? stem.drop_back()
                                                          : name;
}

/// What stands between quotes: "['a', 'b']".
static SmallVector<StringRef> listQuoted(StringRef text) {
  SmallVector<StringRef> parts, quoted;
  text.split(parts, '\'');
  for (size_t i = 1; i < parts.size(); i += 2)
    quoted.push_back(parts[i]);
  return quoted;
}

/// What an op of the source reads: "%o : ... = call_function[target=...](args =
/// (%mul, %p_a_weight, 0.5), ...)".
static SmallVector<StringRef> listOperands(StringRef note) {
  SmallVector<StringRef> words, names;
  note.split(words, '%');
  for (size_t i = 2; i < words.size(); ++i)
    names.push_back(words[i].take_while(
        [](char c) { return llvm::isAlnum(c) || c == '_'; }));
  return names;
}

OnnxSource::OnnxSource(const onnx::GraphProto &graph) {
  onlyWeights = findNote(graph.metadata_props(), kInitializers) == "weights";
  // A line each: p_a_weight: PARAMETER target='a.weight'
  SmallVector<StringRef> lines;
  findNote(graph.metadata_props(), kSignature).split(lines, '\n');
  for (StringRef line : lines) {
    auto [placeholder, rest] = line.split(": ");
    auto [kind, target] = rest.split(" target='");
    StringRef name = target.split('\'').first;
    if (rest.starts_with("USER_") || kind == "BUFFER")
      values.insert(placeholder);
    if (name.empty())
      continue;
    bool isParameter = kind == "PARAMETER";
    if (!isParameter && kind != "BUFFER" && kind != "CONSTANT_TENSOR")
      continue;
    kinds[name] = isParameter ? Kind::Parameter : Kind::Fixed;
    if (isParameter)
      parameters[placeholder] = name.str();
  }
  if (kinds.empty())
    return;
  forEachNode(graph, [&](const onnx::NodeProto &node) {
    for (const std::string &output : node.output())
      values.insert(output);
  });
  for (const onnx::ValueInfoProto &value : graph.value_info()) {
    StringRef from = findNote(value.metadata_props(), kFoldedFrom);
    if (from.empty())
      continue;
    Origin origin;
    // What the exporter makes within one of PyTorch's ops it calls val_12.
    auto isForm = [](StringRef name) {
      StringRef stem = dropNumber(name);
      return stem == "val" || llvm::is_contained(kForms, stem);
    };
    origin.isForm = isForm(value.name());
    for (StringRef name : listQuoted(from)) {
      Kind kind = kindOf(name);
      if (kind == Kind::Parameter)
        origin.parameters.push_back(name.str());
      origin.isForm &= kind == Kind::Parameter || isForm(name);
    }
    origins[value.name()] = origin;
  }
}

OnnxSource::Read
OnnxSource::findRead(const onnx::NodeProto &node, StringRef initializer,
                     llvm::function_ref<bool(StringRef)> isInFile) const {
  StringRef own = findParameter(initializer);
  StringRef note = findNote(node.metadata_props(), kNode);
  if (parameters.empty() || note.empty())
    return {};
  // Group norm's own scale and shift are the exporter's ones and zeros: the
  // parameters are behind it, one a channel.
  if (node.op_type() == "InstanceNormalization" && note.contains("group_norm"))
    return {Read::Number, ""};
  SmallVector<StringRef, 2> merged;
  bool isUnclear = false, mayBeForm = false;
  for (StringRef name : listOperands(note)) {
    auto known = parameters.find(name);
    if (known == parameters.end()) {
      StringRef stem = dropNumber(name);
      bool isNumber =
          llvm::is_contained(kNumbers, stem) || stem == "scalar_tensor_default";
      if (!values.contains(name) && !isNumber) {
        isUnclear = true;
        mayBeForm |= llvm::is_contained(kForms, stem);
      }
      continue;
    }
    if (known->second == own)
      return {};
    if (!isInFile(known->second) && !llvm::is_contained(merged, known->second))
      merged.push_back(known->second);
  }
  bool isRewritten = !findNote(node.metadata_props(), kRewritten).empty();
  if (own.empty())
    return {merged.empty() && !isUnclear && !isRewritten ? Read::Number
                                                         : Read::Same,
            ""};
  // Of a layer's weight and bias the one of the same name.
  if (merged.size() > 1)
    llvm::erase_if(merged, [&](StringRef name) {
      return name.rsplit('.').second != own.rsplit('.').second;
    });
  if (merged.size() == 1)
    return {Read::Merged, merged.front().str()};
  // A node that stands for several may have the note of one.
  if (!merged.empty() || mayBeForm || isRewritten)
    return {};
  return {isUnclear ? Read::Unclear : Read::Number, ""};
}

std::optional<int64_t> OnnxSource::findPadding(const onnx::NodeProto &node) {
  // ...aten.embedding.default](args = (%p_e_weight, %x, 0), kwargs = {})
  auto [op, call] = findNote(node.metadata_props(), kNode).split("](args = (");
  SmallVector<StringRef> operands;
  call.split(')').first.split(operands, ", ");
  int64_t row;
  if (!op.ends_with("aten.embedding.default") || operands.size() < 3 ||
      operands[2].getAsInteger(10, row) || row < 0)
    return std::nullopt;
  return row;
}

void OnnxModel::applySource() {
  std::vector<std::string> computed;
  // Of a parameter: what it became, each use of which is trained apart.
  std::map<std::string, std::vector<std::string>> forms;
  for (auto &entry : trainability) {
    Trainability &state = entry.second;
    auto copy = untiedFrom.find(entry.getKey());
    StringRef name =
        copy == untiedFrom.end() ? entry.getKey() : StringRef(copy->second);
    if (state.group == "buffer" || !source.isTold())
      continue;
    if (StringRef of = source.findParameter(name);
        !of.empty() && copy == untiedFrom.end())
      forms[of.str()].push_back(name.str());
    const OnnxSource::Origin *origin = source.findOrigin(name);
    OnnxSource::Kind kind = source.kindOf(name);
    bool isUnknown = kind == OnnxSource::Kind::Unknown;
    // Of the exporter's literals; larger ones may have lost their notes.
    bool isNumber =
        ::dist::elementCount(initializers.find(name)->second.shape) == 1;
    if (!source.findParameter(name).empty() && !state.trainable &&
        !numbers.contains(entry.getKey())) {
      state.trainable = true;
      state.group = "parameter";
      state.why = "a parameter of the source";
    } else if (numbers.contains(entry.getKey())) {
      state.trainable = false;
      state.group = "constant";
      state.why = "a number, and no parameter of the source";
      state.users.clear();
    } else if (kind == OnnxSource::Kind::Fixed ||
               (origin && origin->parameters.empty()) ||
               (isUnknown && !origin && !state.trainable && isNumber)) {
      state.trainable = false;
      state.group = "constant";
      state.why = origin ? "computed by the exporter from no parameter"
                         : "no parameter of the source";
      state.users.clear();
    } else if (origin && !origin->isForm) {
      computed.push_back(entry.getKey().str());
    }
  }
  for (auto &[parameter, names] : forms) {
    if (names.size() < 2)
      continue;
    llvm::sort(names);
    notes.push_back(listNames(names) + " are forms of the one parameter '" +
                    parameter +
                    "' of the source, and are trained apart; export it with "
                    "optimize=False to train it as one");
  }
  if (computed.empty())
    return;
  llvm::sort(computed);
  notes.push_back(listNames(computed) +
                  (computed.size() > 1 ? " were" : " was") +
                  " computed by the exporter from parameters: the source "
                  "trains these; export it with optimize=False to do so");
}
