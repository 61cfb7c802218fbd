//===- StableHloAttributes.cpp - What ops of StableHLO say of themselves --===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists are arrays, or tensors in files of some years ago. Attributes of the
// dialect's own are text here, since the dialect is not there to parse them.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/StableHloImporter.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

std::optional<SmallVector<int64_t>>
StableHloImporter::ints(StringRef name, ArrayRef<int64_t> otherwise) {
  Attribute attribute = current->getAttr(name);
  if (!attribute)
    return SmallVector<int64_t>(otherwise);
  if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute))
    return SmallVector<int64_t>(list.asArrayRef());
  if (auto list = dyn_cast<DenseBoolArrayAttr>(attribute))
    return llvm::map_to_vector(list.asArrayRef(),
                               [](bool b) { return int64_t(b); });
  if (auto list = dyn_cast<DenseIntElementsAttr>(attribute))
    return llvm::map_to_vector(list.getValues<APInt>(), [](const APInt &v) {
      return v.getBitWidth() == 1 ? int64_t(v.getZExtValue())
                                  : v.getSExtValue();
    });
  fail("its '" + name + "' is no list of integers");
  return std::nullopt;
}

std::optional<int64_t>
StableHloImporter::integer(StringRef name, std::optional<int64_t> otherwise) {
  if (auto value = current->getAttrOfType<IntegerAttr>(name))
    return value.getValue().getSExtValue();
  if (!otherwise)
    fail("it has no '" + name + "'");
  return otherwise;
}

/// The text of an attribute that only its dialect could parse.
static StringRef textOf(Operation *op, StringRef name) {
  auto opaque = op->getAttrOfType<OpaqueAttr>(name);
  return opaque ? opaque.getAttrData() : StringRef();
}

StringRef StableHloImporter::word(StringRef name) {
  StringRef text = textOf(current, name);
  text.consume_back(">");
  return text.substr(text.find_last_of(" <") + 1);
}

/// What follows `name =` in a text; empty if it is not there.
static StringRef findField(StringRef text, StringRef name) {
  for (size_t at = text.find(name); at != StringRef::npos;
       at = text.find(name, at + 1)) {
    StringRef rest = text.substr(at + name.size()).ltrim();
    if (at > 0 && StringRef("<, \n").contains(text[at - 1]) &&
        rest.consume_front("="))
      return rest.ltrim();
  }
  return {};
}

std::optional<SmallVector<int64_t>>
StableHloImporter::listOf(StringRef attribute, StringRef name) {
  SmallVector<int64_t> list;
  StringRef rest = findField(textOf(current, attribute), name);
  if (rest.empty())
    return list;
  bool opens = rest.consume_front("[");
  size_t end = rest.find(']');
  if (!opens || end == StringRef::npos) {
    fail("its '" + name + "' is no list");
    return std::nullopt;
  }
  SmallVector<StringRef> words;
  rest.take_front(end).split(words, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef number : words)
    if (number.trim().getAsInteger(10, list.emplace_back())) {
      fail("its '" + name + "' is no list of integers");
      return std::nullopt;
    }
  return list;
}

std::optional<StableHloImporter::IndexDims>
StableHloImporter::indexDims(StringRef attribute, bool scatters) {
  StringRef text = textOf(current, attribute);
  if (text.empty()) {
    fail("it has no '" + attribute + "'");
    return std::nullopt;
  }
  IndexDims dims;
  const std::pair<StringRef, SmallVector<int64_t> *> lists[] = {
      {scatters ? "update_window_dims" : "offset_dims", &dims.window},
      {scatters ? "inserted_window_dims" : "collapsed_slice_dims",
       &dims.collapsed},
      {scatters ? "input_batching_dims" : "operand_batching_dims",
       &dims.operandBatch},
      {scatters ? "scatter_indices_batching_dims"
                : "start_indices_batching_dims",
       &dims.indexBatch},
      {scatters ? "scatter_dims_to_operand_dims" : "start_index_map",
       &dims.map}};
  for (const auto &[name, list] : lists) {
    std::optional<SmallVector<int64_t>> found = listOf(attribute, name);
    if (!found)
      return std::nullopt;
    *list = *found;
  }
  StringRef vector = findField(text, "index_vector_dim");
  if (!vector.empty() && vector.consumeInteger(10, dims.vector)) {
    fail("its 'index_vector_dim' is no integer");
    return std::nullopt;
  }
  return dims;
}

SmallVector<Value> StableHloImporter::operands() {
  return llvm::map_to_vector(current->getOperands(),
                             [&](Value v) { return values.lookup(v); });
}

RankedTensorType StableHloImporter::resultType(unsigned i) {
  return cast<RankedTensorType>(current->getResult(i).getType());
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

StableHloImporter::Combiner StableHloImporter::findCombiner(Region &region) {
  if (!region.hasOneBlock() || region.getNumArguments() != 2)
    return Combiner::None;
  Block &block = region.front();
  Value x = block.getArgument(0), y = block.getArgument(1);
  Operation &last = block.back();
  if (last.getNumOperands() != 1)
    return Combiner::None;
  Value result = last.getOperand(0);
  if (result == y)
    return Combiner::Second;
  Operation *op = result.getDefiningOp();
  if (!op || op != &block.front() || op->getNextNode() != &last ||
      op->getNumOperands() != 2 || !llvm::is_contained(op->getOperands(), x) ||
      !llvm::is_contained(op->getOperands(), y))
    return Combiner::None;
  bool isBits = cast<ShapedType>(x.getType()).getElementType().isInteger(1);
  return llvm::StringSwitch<Combiner>(op->getName().getStringRef())
      .Case("stablehlo.add", isBits ? Combiner::Or : Combiner::Add)
      .Case("stablehlo.multiply", isBits ? Combiner::And : Combiner::Multiply)
      .Case("stablehlo.maximum", isBits ? Combiner::Or : Combiner::Maximum)
      .Case("stablehlo.minimum", isBits ? Combiner::And : Combiner::Minimum)
      .Case("stablehlo.and", isBits ? Combiner::And : Combiner::None)
      .Case("stablehlo.or", isBits ? Combiner::Or : Combiner::None)
      .Default(Combiner::None);
}

FailureOr<SmallVector<HostTensor>>
StableHloImporter::callWithNumbers(Region &region, ArrayRef<double> numbers) {
  if (!region.hasOneBlock() || region.getNumArguments() != numbers.size()) {
    fail("its region is not one block of as many arguments");
    return failure();
  }
  SmallVector<Value> arguments;
  for (auto [argument, number] : llvm::zip(region.getArguments(), numbers)) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || type.getRank() != 0) {
      fail("its region is not one of scalars");
      return failure();
    }
    arguments.push_back(scalar(number, type.getElementType()));
  }
  FailureOr<Results> results = importBlock(region.front(), arguments);
  if (failed(results))
    return failure();
  SmallVector<HostTensor> tensors;
  for (Value result : *results) {
    FailureOr<HostTensor> tensor = evaluate(result, nullptr);
    if (failed(tensor)) {
      fail("its region reads what is computed elsewhere");
      return failure();
    }
    tensors.push_back(*tensor);
  }
  return tensors;
}

bool StableHloImporter::isNeutral(Combiner combiner, Value value) {
  std::optional<double> number = findSplat(value);
  if (!number)
    return false;
  Type type = elementOf(value);
  auto isBeyondAll = [&](bool below) {
    if (auto floats = dyn_cast<FloatType>(type))
      return std::isinf(*number) && std::signbit(*number) == below;
    HostTensor extreme(RankedTensorType::get({}, type));
    unsigned width = type.getIntOrFloatBitWidth();
    bool isUnsigned = extreme.isUnsigned();
    APInt bound = below ? (isUnsigned ? APInt::getMinValue(width)
                                      : APInt::getSignedMinValue(width))
                        : (isUnsigned ? APInt::getMaxValue(width)
                                      : APInt::getSignedMaxValue(width));
    extreme.setInt(0, isUnsigned ? int64_t(bound.getZExtValue())
                                 : bound.getSExtValue());
    return *number == extreme.getDouble(0);
  };
  switch (combiner) {
  case Combiner::Add:
  case Combiner::Or:
    return *number == 0;
  case Combiner::Multiply:
  case Combiner::And:
    return *number == 1;
  case Combiner::Maximum:
    return isBeyondAll(/*below=*/true);
  case Combiner::Minimum:
    return isBeyondAll(/*below=*/false);
  case Combiner::None:
  case Combiner::Second:
    return false;
  }
  return false;
}

Value StableHloImporter::combine(Combiner combiner, Value x, Value y) {
  switch (combiner) {
  case Combiner::Add:
    return add(x, y);
  case Combiner::Multiply:
    return mul(x, y);
  case Combiner::Maximum:
    return maximum(x, y);
  case Combiner::Minimum:
    return minimum(x, y);
  case Combiner::And:
    return binary<AndOp>(x, y);
  case Combiner::Or:
    return binary<OrOp>(x, y);
  case Combiner::None:
  case Combiner::Second:
    return {};
  }
  return {};
}
