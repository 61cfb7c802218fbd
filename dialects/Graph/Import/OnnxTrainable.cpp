//===- OnnxTrainable.cpp - Which initializers are trained -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Float initializers in parameter slots are trained; in Add and Mul those of
// more than one element that are no mask, and the one number that is the bias
// of a layer of one unit; in Concat those that stand beside activations, as a
// class token does; in Div those that the norm of one divides (weight norm, the
// classes of a cosine classifier); as the state that a recurrence starts from
// those repeated over the batch. An initializer is followed through ops that
// only change its form, repeat it, put several together or take parts of it.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxModel.h"
#include "runtime/formats/convert.h"
#include "runtime/formats/file.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
/// `Setting`: a bound, a ratio or a size, which nothing trains. `State`: what a
/// recurrence starts from, which is one where it is repeated over the batch.
enum class Slot { None, Parameter, Buffer, Operand, Piece, Setting, State };

struct SlotRow {
  const char *op;
  unsigned first, last; // inputs
  Slot slot;
};
constexpr SlotRow kSlots[] = {
    {"Conv", 1, 2, Slot::Parameter},
    {"ConvTranspose", 1, 2, Slot::Parameter},
    {"Gemm", 0, 2, Slot::Parameter},
    {"MatMul", 0, 1, Slot::Parameter},
    {"Einsum", 0, 99, Slot::Parameter},
    {"BatchNormalization", 1, 2, Slot::Parameter},
    {"BatchNormalization", 3, 4, Slot::Buffer},
    {"InstanceNormalization", 1, 2, Slot::Parameter},
    {"LayerNormalization", 1, 2, Slot::Parameter},
    {"GroupNormalization", 1, 2, Slot::Parameter},
    {"RMSNormalization", 1, 1, Slot::Parameter},
    {"Gather", 0, 0, Slot::Parameter},
    {"PRelu", 1, 1, Slot::Parameter},
    {"RNN", 1, 3, Slot::Parameter},
    {"GRU", 1, 3, Slot::Parameter},
    {"LSTM", 1, 3, Slot::Parameter},
    {"LSTM", 7, 7, Slot::Parameter},
    {"RNN", 5, 5, Slot::State},
    {"GRU", 5, 5, Slot::State},
    {"LSTM", 5, 6, Slot::State},
    {"Add", 0, 1, Slot::Operand},
    {"Mul", 0, 1, Slot::Operand},
    {"Concat", 0, 9999, Slot::Piece},
    {"Clip", 1, 2, Slot::Setting},
    {"Dropout", 1, 1, Slot::Setting},
    {"OneHot", 2, 2, Slot::Setting},
    {"Pad", 2, 2, Slot::Setting},
    {"Range", 0, 2, Slot::Setting},
    {"Resize", 1, 2, Slot::Setting},
    {"Upsample", 1, 1, Slot::Setting},
};
/// Ops that hand their first input on in another form, or parts of it: layers
/// of one kind may lie stacked in one initializer.
constexpr const char *kForms[] = {"Identity", "Transpose", "Reshape", "Cast",
                                  "CastLike", "Unsqueeze", "Squeeze", "Flatten",
                                  "Slice",    "Split"};
/// Of these, the ones that take parts, and ops that repeat.
constexpr const char *kParts[] = {"Slice", "Split"};
constexpr const char *kRepeats[] = {"Expand", "Tile"};
/// Ops that layers of preprocessing are made of, beside those that hand on.
constexpr const char *kPreprocessing[] = {"Add", "Sub", "Mul",    "Div",
                                          "Max", "Min", "Clip",   "Neg",
                                          "Abs", "Pad", "Resize", "Sqrt"};
/// Ops that keep a norm away from zero.
constexpr const char *kBounds[] = {"Add", "Clip", "Max"};

constexpr char kStatisticsOf[] = "moving statistics of ";

Slot findSlot(StringRef op, unsigned input) {
  for (const SlotRow &row : kSlots)
    if (op == row.op && input >= row.first && input <= row.last)
      return row.slot;
  return Slot::None;
}

/// Additive masks hold large negative numbers, multiplicative ones both 0 and
/// 1; a vector of zeros or of ones is a bias or a scale at its start.
bool isMask(const ::dist::HostArray &array) {
  bool zero = false, one = false;
  int64_t count = ::dist::elementCount(array.shape);
  for (int64_t i = 0; i < count; ++i) {
    double v = ::dist::elementAsDouble(array.type, array.data, i);
    if (v <= -1e4)
      continue;
    if (v != 0 && v != 1)
      return false;
    (v == 0 ? zero : one) = true;
  }
  bool negative = !zero && !one;
  for (int64_t i = 0; i < count && !negative; ++i)
    negative = ::dist::elementAsDouble(array.type, array.data, i) <= -1e4;
  return negative || (zero && one);
}

bool areEqual(const ::dist::HostArray &array) {
  int64_t count = ::dist::elementCount(array.shape);
  double first = count ? ::dist::elementAsDouble(array.type, array.data, 0) : 0;
  for (int64_t i = 1; i < count; ++i)
    if (::dist::elementAsDouble(array.type, array.data, i) != first)
      return false;
  return true;
}

/// What TensorFlow names a number or a table that the source has written down:
/// after the operand of its op, not after the read of a variable.
bool isLiteral(StringRef name) {
  if (!name.consume_back(":0") || !name.contains('/'))
    return false;
  StringRef operand = name.rsplit('/').second;
  static constexpr const char *operands[] = {
      "x", "y", "a", "b", "input", "params", "filter", "filters"};
  return llvm::is_contained(operands, operand) ||
         (operand.consume_front("Const") &&
          operand.find_first_not_of("_0123456789") == StringRef::npos);
}

/// Rows of equal elements beside activations are padding, unless the source
/// named them as it names parameters (`encoder.cls`, `class_token`).
bool isPadding(StringRef name, const ::dist::HostArray &array) {
  return areEqual(array) &&
         (!isParameterName(name) ||
          !(name.contains('.') || name.contains("token") ||
            name.contains("embed") || name.contains("query")));
}

/// What a value is made of: an initializer, and what happened to it.
struct Origin {
  std::string name;
  /// What is repeated is a parameter where it is added, multiplied, put beside
  /// activations or the state that a recurrent node starts from; elsewhere it
  /// may be such a state of a recurrence that is written out.
  bool repeated = false;
  /// Not all of it.
  bool part = false;
};

class Classifier {
public:
  Classifier(const llvm::StringMap<::dist::HostArray> &initializers,
             llvm::StringMap<Trainability> &result)
      : initializers(initializers), result(result) {
    for (const auto &entry : result)
      origin[entry.getKey()] = {{entry.getKey().str(), false, false}};
  }
  void visit(const onnx::NodeProto &node);
  /// What tf2onnx names after no variable and is applied to the data is no
  /// parameter, but what a layer of preprocessing shifts or scales by; nor is
  /// what it names after an operand.
  void tellConstants(const onnx::GraphProto &graph);

private:
  bool isPreprocessing(const onnx::NodeProto &node, StringRef name) const;
  void followData(const onnx::NodeProto &node);
  bool follow(const onnx::NodeProto &node);
  void findNorm(const onnx::NodeProto &node);
  void classify(const onnx::NodeProto &node, int input, const Origin &from,
                const std::string &place);
  /// Group norm as an instance norm between two reshapes, behind which the
  /// parameters are: its own are ones and zeros that no source has.
  bool isFixedScale(const onnx::NodeProto &node, StringRef name) const;
  bool takesNumber(const onnx::NodeProto &node, int input,
                   ArrayRef<int64_t> shape) const {
    return node.op_type() == "Add" && !shape.empty() &&
           columns.contains(node.input(1 - input));
  }

  const llvm::StringMap<::dist::HostArray> &initializers;
  llvm::StringMap<Trainability> &result;
  llvm::StringMap<SmallVector<Origin, 1>> origin;
  /// Products with a matrix of one column: a single number added is their bias.
  llvm::StringSet<> columns;
  /// Norms of initializers.
  llvm::StringSet<> norms;
  /// What Reshape nodes give.
  llvm::StringSet<> reshaped;
  /// Whether names tell what is no variable.
  bool tellsLiterals = false;
  /// Inputs of the model, and what is made of these without a parameter; empty
  /// if preprocessing is not told.
  llvm::StringSet<> data;
};
} // namespace

bool Classifier::isFixedScale(const onnx::NodeProto &node,
                              StringRef name) const {
  if (node.op_type() != "InstanceNormalization" ||
      !reshaped.contains(node.input(0)) || isParameterName(name))
    return false;
  const ::dist::HostArray &array = initializers.find(name)->second;
  double expected = name == StringRef(node.input(1)) ? 1 : 0;
  int64_t count = ::dist::elementCount(array.shape);
  for (int64_t i = 0; i < count; ++i)
    if (::dist::elementAsDouble(array.type, array.data, i) != expected)
      return false;
  return true;
}

void Classifier::tellConstants(const onnx::GraphProto &graph) {
  tellsLiterals = true;
  for (const onnx::ValueInfoProto &input : graph.input())
    if (!initializers.contains(input.name()))
      data.insert(input.name());
}

bool Classifier::isPreprocessing(const onnx::NodeProto &node,
                                 StringRef name) const {
  auto tellsOfLayer = [](StringRef text) {
    return text.contains("ReadVariableOp") || text.contains("batchnorm/");
  };
  return llvm::any_of(
             node.input(),
             [&](const std::string &input) { return data.contains(input); }) &&
         !tellsOfLayer(name) && !tellsOfLayer(node.name());
}

/// What a node makes of the data is data where no parameter was put in.
void Classifier::followData(const onnx::NodeProto &node) {
  StringRef op = node.op_type();
  if (!llvm::is_contained(kPreprocessing, op) &&
      !llvm::is_contained(kForms, op))
    return;
  bool readsData = false;
  for (const std::string &input : node.input()) {
    auto known = result.find(input);
    readsData |= data.contains(input);
    if (known != result.end() && known->second.trainable)
      return;
  }
  if (readsData)
    for (const std::string &output : node.output())
      data.insert(output);
}

/// Whether the node only hands on what its inputs are made of.
bool Classifier::follow(const onnx::NodeProto &node) {
  StringRef op = node.op_type();
  bool repeats = llvm::is_contained(kRepeats, op);
  bool joins = op == "Concat";
  if (!repeats && !joins && !llvm::is_contained(kForms, op))
    return false;
  SmallVector<Origin, 1> from;
  int count = std::min<int>(node.input_size(), joins ? node.input_size() : 1);
  for (int i = 0; i < count; ++i) {
    auto it = origin.find(node.input(i));
    if (it == origin.end())
      return !joins;
    from.append(it->second);
  }
  for (Origin &one : from) {
    one.repeated |= repeats;
    one.part |= llvm::is_contained(kParts, op);
  }
  for (const std::string &output : node.output())
    if (!output.empty() && !from.empty())
      origin[output] = from;
  return true;
}

void Classifier::findNorm(const onnx::NodeProto &node) {
  StringRef op = node.op_type();
  if (node.output_size() != 1 || node.input_size() == 0)
    return;
  bool isNorm = op == "ReduceL2" && origin.contains(node.input(0));
  bool passesOn = llvm::is_contained(kForms, op) ||
                  llvm::is_contained(kRepeats, op) ||
                  llvm::is_contained(kBounds, op);
  isNorm |=
      passesOn && llvm::any_of(node.input(), [&](const std::string &input) {
        return norms.contains(input);
      });
  if (isNorm)
    norms.insert(node.output(0));
}

void Classifier::classify(const onnx::NodeProto &node, int input,
                          const Origin &from, const std::string &place) {
  Trainability &state = result[from.name];
  const ::dist::HostArray &array = initializers.find(from.name)->second;
  Slot slot = findSlot(node.op_type(), input);
  if (node.op_type() == "Div" && input == 0 && norms.contains(node.input(1)))
    slot = Slot::Operand;
  if (from.repeated && slot != Slot::Operand && slot != Slot::Piece &&
      slot != Slot::State)
    slot = Slot::None;
  bool isNumber = ::dist::elementCount(array.shape) <= 1;
  auto addUser = [&](const std::string &user, auto before) {
    if (!from.part && !llvm::is_contained(state.users, user))
      state.users.insert(before, user);
  };
  auto refuse = [&](const std::string &why) {
    if (!state.trainable)
      state.why = why + " " + place;
  };
  // Of those whose elements are equal the exporter may have made several one.
  if (tellsLiterals &&
      (slot == Slot::Operand || slot == Slot::Parameter ||
       slot == Slot::Piece) &&
      isLiteral(from.name) && !isNumber && !areEqual(array)) {
    refuse("a literal of the source, in");
    state.seen = true;
    return;
  }
  switch (slot) {
  case Slot::None:
    if (!state.trainable && state.group == "parameter" && !state.seen)
      state.why = "in no parameter slot: " +
                  std::string(from.repeated ? "repeated, " : "") + "read by " +
                  place;
    break;
  case Slot::Setting:
    if (!state.trainable && !state.seen) {
      state.group = "constant";
      state.why = "a setting of " + place;
    }
    break;
  case Slot::Buffer:
    if (!state.trainable && state.group != "buffer") {
      state.group = "buffer";
      state.why = kStatisticsOf + place;
    }
    addUser(kStatisticsOf + place, state.users.end());
    break;
  case Slot::Piece:
  case Slot::Operand:
  case Slot::State:
    if (slot == Slot::State && !from.repeated) {
      refuse("the state that the steps start from, of");
      break;
    }
    if (isNumber && !takesNumber(node, input, array.shape)) {
      refuse("a scalar in");
      break;
    }
    if (isMask(array)) {
      refuse("a mask in");
      break;
    }
    if (slot == Slot::Operand && isPreprocessing(node, from.name)) {
      refuse("preprocessing of the data, in");
      break;
    }
    if (slot != Slot::Operand && isPadding(from.name, array)) {
      refuse(slot == Slot::Piece ? "equal elements, as padding has, in"
                                 : "equal elements, as a state has that the "
                                   "steps start from, in");
      break;
    }
    [[fallthrough]];
  case Slot::Parameter:
    if (isFixedScale(node, from.name)) {
      state.group = "constant";
      state.why = "no scale or shift of the source's, in " + place;
      break;
    }
    if (array.shape.empty()) {
      refuse("a scalar in");
      break;
    }
    if (!state.trainable) {
      state.trainable = true;
      state.group = "parameter";
      state.why = "a parameter of " + place;
    }
    // Before what the statistics are of: the first is what `why` tells of.
    addUser(place, llvm::find_if(state.users, [](StringRef known) {
              return known.starts_with(kStatisticsOf);
            }));
    break;
  }
  state.seen |= slot != Slot::None;
}

void Classifier::visit(const onnx::NodeProto &node) {
  if (node.op_type() == "Reshape" && node.output_size() == 1)
    reshaped.insert(node.output(0));
  if (!node.domain().empty() && node.domain() != "ai.onnx")
    return;
  findNorm(node);
  if (follow(node))
    return followData(node);
  const std::string &op = node.op_type();
  if (op == "MatMul" && node.input_size() == 2 && node.output_size() == 1)
    if (auto it = origin.find(node.input(1)); it != origin.end())
      for (const Origin &from : it->second)
        if (llvm::is_contained(initializers.find(from.name)->second.shape, 1))
          columns.insert(node.output(0));
  std::string place =
      op + " '" +
      (node.name().empty() && node.output_size() ? node.output(0)
                                                 : node.name()) +
      "'";
  for (int i = 0; i < node.input_size(); ++i)
    if (auto it = origin.find(node.input(i)); it != origin.end())
      for (const Origin &from : it->second)
        classify(node, i, from, place);
  followData(node);
}

void mlir::dist::graph::forEachNode(
    const onnx::GraphProto &graph,
    llvm::function_ref<void(const onnx::NodeProto &)> visit) {
  for (const onnx::NodeProto &node : graph.node()) {
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        forEachNode(attribute.g(), visit);
    visit(node);
  }
}

void OnnxModel::findConstantWeights() {
  llvm::StringMap<::dist::HostArray> constants;
  std::vector<std::string> names;
  ::dist::forEachOnnxGraph(model.mutable_graph(), [&](onnx::GraphProto *graph) {
    for (onnx::NodeProto &node : *graph->mutable_node()) {
      const onnx::TensorProto *tensor = ::dist::findOnnxConstant(&node);
      if (!tensor || tensor->dims_size() == 0 ||
          !::dist::isFloat(::dist::fromOnnxType(tensor->data_type())))
        continue;
      onnx::TensorProto copy = *tensor;
      ::dist::HostArray array;
      // What is wrong with one is said where it is imported.
      if (::dist::takeOnnxTensor(copy, files.get(), path, &array).ok() &&
          constants.try_emplace(node.output(0), array).second)
        names.push_back(node.output(0));
    }
  });
  llvm::StringMap<Trainability> weights = findTrainable(model, constants);
  llvm::Regex regex(options.trainRegex);
  bool asked = !options.trainRegex.empty() && regex.isValid();
  for (const std::string &name : names)
    if (auto found = weights.find(name);
        found->second.trainable && !(asked && regex.match(name)))
      constantWeights.push_back({name, found->second.why});
  if (asked)
    ::dist::liftOnnxConstants(
        model.mutable_graph(), [&](const std::string &name) {
          auto found = weights.find(name);
          return found != weights.end() && found->second.trainable &&
                 regex.match(name);
        });
}

llvm::StringMap<Trainability> mlir::dist::graph::findTrainable(
    const onnx::ModelProto &model,
    const llvm::StringMap<::dist::HostArray> &initializers) {
  llvm::StringMap<Trainability> result;
  for (const auto &entry : initializers)
    if (::dist::isFloat(entry.second.type))
      result[entry.getKey()].why = "in no parameter slot";
  Classifier classifier(initializers, result);
  if (model.producer_name() == "tf2onnx")
    classifier.tellConstants(model.graph());
  forEachNode(model.graph(),
              [&](const onnx::NodeProto &node) { classifier.visit(node); });
  return result;
}
