//===- OnnxTrainable.cpp - Which initializers are trained -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Float initializers in parameter slots are trained; in Add and Mul those of
// more than one element that are no mask, and the one number that is the bias
// of a layer of one unit. An initializer is followed through ops that only
// change its form or take parts of it.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxNode.h"
#include "runtime/formats/convert.h"
#include "runtime/formats/file.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

namespace {
enum class Slot { None, Parameter, Buffer, Operand };

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
    {"Add", 0, 1, Slot::Operand},
    {"Mul", 0, 1, Slot::Operand},
};
/// Ops that hand their first input on in another form, or parts of it: layers
/// of one kind may lie stacked in one initializer.
constexpr const char *kForms[] = {"Identity", "Transpose", "Reshape", "Cast",
                                  "CastLike", "Unsqueeze", "Squeeze", "Flatten",
                                  "Slice",    "Split"};

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
} // namespace

llvm::StringMap<Trainability> mlir::dist::graph::findTrainable(
    const onnx::GraphProto &graph,
    const llvm::StringMap<::dist::HostArray> &initializers) {
  llvm::StringMap<Trainability> result;
  for (const auto &entry : initializers)
    if (::dist::isFloat(entry.second.type))
      result[entry.getKey()].why = "in no parameter slot";

  // Value name -> the initializer it is a form of. What is repeated is a bias
  // or a scale where it is added or multiplied; elsewhere it may be the state
  // that a recurrence starts from.
  struct Origin {
    std::string name;
    bool repeated = false;
  };
  llvm::StringMap<Origin> origin;
  for (const auto &entry : result)
    origin[entry.getKey()] = {entry.getKey().str(), false};
  // Products with a matrix of one column: a single number added is their bias.
  llvm::StringSet<> columns;
  for (const onnx::NodeProto &node : graph.node()) {
    if (!node.domain().empty() && node.domain() != "ai.onnx")
      continue;
    const std::string &op = node.op_type();
    bool repeats = op == "Expand";
    if ((repeats || llvm::is_contained(kForms, StringRef(op))) &&
        node.input_size() > 0) {
      auto it = origin.find(node.input(0));
      if (it == origin.end())
        continue;
      Origin from = it->second;
      from.repeated |= repeats;
      for (const std::string &output : node.output())
        if (!output.empty())
          origin[output] = from;
      continue;
    }
    if (op == "MatMul" && node.input_size() == 2 && node.output_size() == 1) {
      auto it = origin.find(node.input(1));
      if (it != origin.end() &&
          llvm::is_contained(initializers.find(it->second.name)->second.shape,
                             1))
        columns.insert(node.output(0));
    }
    for (int i = 0; i < node.input_size(); ++i) {
      auto it = origin.find(node.input(i));
      if (it == origin.end())
        continue;
      const Origin &from = it->second;
      Trainability &state = result[from.name];
      const ::dist::HostArray &array = initializers.find(from.name)->second;
      std::string place =
          op + " '" +
          (node.name().empty() && node.output_size() ? node.output(0)
                                                     : node.name()) +
          "'";
      Slot slot = findSlot(op, i);
      if (from.repeated && slot != Slot::Operand)
        slot = Slot::None;
      switch (slot) {
      case Slot::None:
        break;
      case Slot::Buffer:
        if (!state.trainable) {
          state.group = "buffer";
          state.why = "moving statistics of " + place;
        }
        break;
      case Slot::Operand:
        if (state.trainable)
          break;
        if (::dist::elementCount(array.shape) <= 1 &&
            !(op == "Add" && !array.shape.empty() &&
              columns.contains(node.input(1 - i)))) {
          state.why = "a scalar in " + place;
          break;
        }
        if (isMask(array)) {
          state.why = "a mask in " + place;
          break;
        }
        [[fallthrough]];
      case Slot::Parameter:
        if (state.trainable)
          break;
        if (array.shape.empty()) {
          state.why = "a scalar in " + place;
          break;
        }
        state.trainable = true;
        state.group = "parameter";
        state.why = "a parameter of " + place;
        break;
      }
    }
  }
  return result;
}
