//===- preprocessing.cpp - What examples go through -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/preprocessing.h"
#include "runtime/data/column_checks.h"
#include "runtime/formats/convert.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>

namespace dist {

bool parseFraction(const std::string &text, double *top, double *bottom) {
  size_t slash = text.find('/');
  auto number = [](const std::string &word, double *out) {
    char *end = nullptr;
    *out = std::strtod(word.c_str(), &end);
    return !word.empty() && *end == 0 && std::isfinite(*out);
  };
  *bottom = 1;
  if (!number(text.substr(0, slash), top))
    return false;
  return slash == std::string::npos ||
         (number(text.substr(slash + 1), bottom) && *bottom != 0);
}

/// Value of an option for the column: by its name, or by x or y.
static const std::string *
findOption(const std::map<std::string, std::string> &table,
           const Column &column, bool first) {
  auto it = table.find(column.name);
  if (it == table.end() && column.label && column.soleLabel)
    it = table.find(table.count("y") ? "y" : "label");
  if (it == table.end() && first)
    it = table.find("x");
  return it == table.end() ? nullptr : &it->second;
}

static Status parseNumbers(const std::string &option, const std::string &name,
                           const std::string &text, std::vector<double> *out) {
  size_t begin = 0;
  while (begin <= text.size()) {
    size_t end = std::min(text.find(',', begin), text.size());
    double top, bottom;
    if (!parseFraction(text.substr(begin, end - begin), &top, &bottom))
      return Status::error(
          StatusCode::InvalidArgument, "wrong option value", option,
          "expected numbers for '" + name + "', but got '" + text + "'",
          "write for example " + name + "=0.5");
    out->push_back(top / bottom);
    begin = end + 1;
  }
  return Status();
}

static std::vector<int64_t> withoutUnits(const std::vector<int64_t> &shape) {
  std::vector<int64_t> rest;
  for (int64_t dim : shape)
    if (dim != 1)
      rest.push_back(dim);
  return rest;
}

static bool isFlat(const std::vector<int64_t> &shape) {
  return withoutUnits(shape).size() <= 1;
}

/// Whether the model's images have their channels first. What tells: the dims
/// of space are alike, and no more channels than colours are told from space.
/// None where neither tells, or one denies the other.
static std::optional<bool> findChannelsFirst(const std::vector<int64_t> &to) {
  if (to.size() != 3)
    return std::nullopt;
  auto decide = [](bool first, bool last) {
    return first == last ? std::nullopt : std::optional<bool>(first);
  };
  std::optional<bool> bySpace = decide(to[1] == to[2], to[0] == to[1]);
  std::optional<bool> byColours = decide(to[0] <= 4, to[2] <= 4);
  if (bySpace && byColours && *bySpace != *byColours)
    return std::nullopt;
  return bySpace ? bySpace : byColours;
}

/// The dims of `shape` with its channels moved to the other end.
static std::vector<int64_t> moveChannels(std::vector<int64_t> shape,
                                         bool toFront) {
  if (toFront)
    std::rotate(shape.begin(), shape.end() - 1, shape.end());
  else
    std::rotate(shape.begin(), shape.begin() + 1, shape.end());
  return shape;
}

/// The dims of the file's examples, of which `from` has been read: a flat
/// example's are the model's, in the order that --layout tells. Without that it
/// is taken as the model has it.
static Status findImageDims(const Column &column, const std::string *layout,
                            std::vector<int64_t> from,
                            std::vector<int64_t> *out) {
  const std::vector<int64_t> &to = column.exampleShape;
  *out = std::move(from);
  // Without a dim of channels there is one, and nothing to move.
  if (!layout || to.size() < 3 || isFlat(to) ||
      elementCount(*out) != elementCount(to))
    return Status();
  bool last = *layout == "NHWC", flat = isFlat(*out);
  // All dims alike: the same ones, whether channels are moved or not.
  bool cube = *out == to && moveChannels(to, last) == to;
  if (!flat && !cube)
    return Status();
  std::optional<bool> first = findChannelsFirst(to);
  if (!first)
    return unfit("cannot tell where the model has its channels", column.name,
                 "--layout moves those of " +
                     std::string(flat ? "flat examples" : "the file") +
                     " to the first or to the last dim of " + toString(to),
                 flat ? "leave --layout out if the file has the model's order, "
                        "else give examples that have their dims, e.g. a .npy"
                      : "leave --layout out if the file has the model's order, "
                        "else transpose the data");
  *out = *first == last ? moveChannels(to, /*toFront=*/!last) : to;
  return Status();
}

/// Fits the file's example shape to the argument's: equal, equal but for dims
/// of 1, flat on one side, or with the channels moved.
static Status fitShape(Column &column, const std::string *layout) {
  if (layout && *layout != "NHWC" && *layout != "NCHW")
    return Status::error(StatusCode::InvalidArgument, "wrong option value",
                         "--layout",
                         "expected NHWC or NCHW for '" + column.name +
                             "', but got '" + *layout + "'",
                         "write " + column.name + "=NHWC");
  std::vector<int64_t> from;
  DIST_RETURN_IF_ERROR(findImageDims(
      column, layout,
      {column.array.shape.begin() + 1, column.array.shape.end()}, &from));
  const std::vector<int64_t> &to = column.exampleShape;
  auto refused = [&](const std::string &todo) {
    return unfit("data do not fit the model", column.name,
                 "expected examples of shape " + toString(to) + ", but got " +
                     toString(from),
                 todo);
  };
  bool last = layout && *layout == "NHWC";
  if (from.size() >= 3) {
    column.channelCount = last ? from.back() : from.front();
    column.channelStride =
        last ? 1 : elementCount({from.begin() + 1, from.end()});
  }
  if (layout && from.size() >= 3) {
    std::vector<int64_t> moved = moveChannels(from, /*toFront=*/last);
    if (moved == to && from != moved) {
      column.transposed = true;
      column.toChannelsLast = !last;
      column.channels = last ? from.back() : from.front();
      column.plane = elementCount(from) / std::max<int64_t>(column.channels, 1);
      return Status();
    }
  }
  if (from == to || withoutUnits(from) == withoutUnits(to))
    return Status();
  if ((isFlat(from) || isFlat(to)) && elementCount(from) == elementCount(to))
    return Status();
  if (!layout && from.size() == to.size() && from.size() >= 3 &&
      moveChannels(from, /*toFront=*/true) == to)
    return refused("give --layout " + column.name + "=NHWC");
  // Class numbers, where the loss takes a row of probabilities.
  if (column.label && from.empty() && to.size() == 1)
    return refused("if labels are numbers of classes, compile with --loss "
                   "sparse-categorical-crossentropy");
  return refused("reshape the data or choose another model");
}

static Status setPreprocessing(const DataOptions &options, Column &column,
                               bool first) {
  const std::string *layout = findOption(options.layout, column, first);
  DIST_RETURN_IF_ERROR(fitShape(column, layout));
  Preprocessing &p = column.preprocessing;
  if (const std::string *text = findOption(options.scale, column, first))
    if (!parseFraction(*text, &p.scaleTop, &p.scaleBottom))
      return Status::error(StatusCode::InvalidArgument, "wrong option value",
                           "--scale",
                           "expected a number or fraction for '" + column.name +
                               "', but got '" + *text + "'",
                           "write for example " + column.name + "=1/255");
  for (auto &[option, table, target] :
       {std::tuple("--mean", &options.mean, &p.mean),
        std::tuple("--std", &options.std, &p.std)}) {
    const std::string *text = findOption(*table, column, first);
    if (!text)
      continue;
    DIST_RETURN_IF_ERROR(parseNumbers(option, column.name, *text, target));
    if (target->size() != 1 && int64_t(target->size()) != column.channelCount)
      return Status::error(
          StatusCode::InvalidArgument, "wrong option value", option,
          "'" + column.name + "' has " + std::to_string(column.channelCount) +
              (column.channelCount == 1 ? " channel" : " channels") + ", but " +
              std::to_string(target->size()) + " numbers are given",
          layout ? "give one number or one a channel"
                 : "give one number or one a channel; --layout " + column.name +
                       "=NHWC or NCHW tells where the file has its channels, "
                       "of flat examples, too");
  }
  for (double value : p.std)
    if (value == 0)
      return Status::error(StatusCode::InvalidArgument, "wrong option value",
                           "--std", "it is 0 for '" + column.name + "'",
                           "give other numbers");
  if (!p.plain() && !isFloat(column.type))
    return unfit("cannot preprocess", column.name,
                 std::string("the model's input is of type ") +
                     name(column.type),
                 "leave --scale, --mean and --std out for it");
  return Status();
}

Status bindColumn(const DataOptions &options, const manifest::Binding &binding,
                  bool first, Column &column) {
  column.name = binding.name();
  column.label = binding.role() == manifest::Binding::LABEL;
  const manifest::TensorType &type = binding.global_type();
  if (binding.batch_dim() != 0 || type.shape_size() == 0)
    return unfit("input has no batch dim", binding.name(),
                 "examples are laid along dim 0",
                 "use a model with a symbolic batch dim, and no --dim for it");
  column.type = type.type();
  column.exampleShape.assign(type.shape().begin() + 1, type.shape().end());
  return setPreprocessing(options, column, first);
}

Status checkPreprocessingNames(const DataOptions &options,
                               const manifest::Entry &entry) {
  std::string first, names;
  std::set<std::string> known, labels;
  for (const manifest::Binding &binding : entry.arguments()) {
    bool label = binding.role() == manifest::Binding::LABEL;
    if (!label && binding.role() != manifest::Binding::INPUT)
      continue;
    names += (names.empty() ? "" : ", ") + binding.name();
    known.insert(binding.name());
    if (label && binding.name() != options.sampleWeights)
      labels.insert(binding.name());
    else if (first.empty())
      first = binding.name();
  }
  for (auto &[option, table] : {std::pair("--scale", &options.scale),
                                {"--mean", &options.mean},
                                {"--std", &options.std},
                                {"--layout", &options.layout}}) {
    auto wrong = [&, option = option](const std::string &why) {
      return Status::error(
          StatusCode::InvalidArgument, "wrong option value", option, why,
          "the model has " + names + "; x is the first input, y the label");
    };
    std::map<std::string, std::string> meant; // argument -> name given
    for (auto &[name, value] : *table) {
      bool ofLabel = labels.size() == 1 && (name == "y" || name == "label");
      std::string argument = known.count(name) ? name
                             : ofLabel         ? *labels.begin()
                             : name == "x"     ? first
                                               : "";
      if (argument.empty())
        return wrong("the model has no input '" + name + "'");
      auto [other, isNew] = meant.emplace(argument, name);
      if (!isNew)
        return wrong("'" + other->second + "' and '" + name +
                     "' are the same argument");
    }
  }
  return Status();
}

} // namespace dist
