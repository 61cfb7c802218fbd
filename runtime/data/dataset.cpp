//===- dataset.cpp - Examples for the inputs of a program -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/dataset.h"
#include "runtime/core/indices.h"
#include "runtime/data/column_checks.h"
#include "runtime/data/shuffle.h"
#include "runtime/data/source.h"
#include "runtime/formats/convert.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace dist {

//===----------------------------------------------------------------------===//
// Preprocessing
//===----------------------------------------------------------------------===//

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

/// Fits the file's example shape to the argument's: equal, equal but for dims
/// of 1, flat on one side, or with the channels moved.
static Status fitShape(Column &column, const std::string *layout) {
  std::vector<int64_t> from(column.array.shape.begin() + 1,
                            column.array.shape.end());
  const std::vector<int64_t> &to = column.exampleShape;
  auto refused = [&](const std::string &todo) {
    return unfit("data do not fit the model", column.name,
                 "expected examples of shape " + toString(to) + ", but got " +
                     toString(from),
                 todo);
  };
  if (layout && *layout != "NHWC" && *layout != "NCHW")
    return Status::error(StatusCode::InvalidArgument, "wrong option value",
                         "--layout",
                         "expected NHWC or NCHW for '" + column.name +
                             "', but got '" + *layout + "'",
                         "write " + column.name + "=NHWC");
  bool last = layout && *layout == "NHWC";
  if (from.size() >= 3) {
    column.channelCount = last ? from.back() : from.front();
    column.channelStride =
        last ? 1 : elementCount({from.begin() + 1, from.end()});
  }
  if (layout && from.size() >= 3) {
    std::vector<int64_t> moved = from;
    if (last)
      std::rotate(moved.begin(), moved.end() - 1, moved.end());
    else
      std::rotate(moved.begin(), moved.begin() + 1, moved.end());
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
  bool flat = withoutUnits(from).size() <= 1 || withoutUnits(to).size() <= 1;
  if (flat && elementCount(from) == elementCount(to))
    return Status();
  if (!layout && from.size() == to.size() && from.size() >= 3) {
    std::vector<int64_t> moved = from;
    std::rotate(moved.begin(), moved.end() - 1, moved.end());
    if (moved == to)
      return refused("give --layout " + column.name + "=NHWC");
  }
  // Class numbers, where the loss takes a row of probabilities.
  if (column.label && from.empty() && to.size() == 1)
    return refused("if labels are numbers of classes, compile with --loss "
                   "sparse-categorical-crossentropy");
  return refused("reshape the data or choose another model");
}

bool Column::direct() const {
  return array.type == type && preprocessing.plain() && !transposed &&
         reinterpret_cast<uintptr_t>(array.data) % byteSize(type) == 0;
}

namespace {

/// Converts one example with numbers of double precision: correctly rounded
/// for f32 whatever the numbers are.
void convertGeneral(const Column &c, const char *in, std::vector<double> &wide,
                    char *out) {
  int64_t n = c.exampleElements();
  wide.resize(2 * n);
  convertElements(c.array.type, in, manifest::F64, wide.data(), n);
  const Preprocessing &p = c.preprocessing;
  for (int64_t i = 0; i < n; ++i) {
    double value = wide[i];
    if (p.scaleTop != 1 || p.scaleBottom != 1)
      value = value * p.scaleTop / p.scaleBottom;
    size_t channel = i / c.channelStride % c.channelCount;
    if (!p.mean.empty())
      value -= p.mean[p.mean.size() == 1 ? 0 : channel];
    if (!p.std.empty())
      value /= p.std[p.std.size() == 1 ? 0 : channel];
    wide[i] = value;
  }
  const double *values = wide.data();
  if (c.transposed) {
    double *moved = wide.data() + n;
    for (int64_t s = 0; s < c.plane; ++s)
      for (int64_t k = 0; k < c.channels; ++k) {
        int64_t last = s * c.channels + k, first = k * c.plane + s;
        moved[c.toChannelsLast ? last : first] =
            wide[c.toChannelsLast ? first : last];
      }
    values = moved;
  }
  convertElements(manifest::F64, values, c.type, out, n);
}

} // namespace

void Column::gather(const int64_t *indices, int64_t count, char *out) const {
  int64_t n = exampleElements();
  size_t fileBytes = byteSize(array.type) * size_t(n), bytes = exampleBytes();
  bool same = array.type == type && preprocessing.plain() && !transposed;
  // Bytes to f32 by a table: the usual images.
  bool table = array.type == manifest::U8 && type == manifest::F32 &&
               preprocessing.mean.size() <= 1 &&
               preprocessing.std.size() <= 1 && !transposed;
  float values[256];
  if (table)
    for (int i = 0; i < 256; ++i) {
      double value = i * preprocessing.scaleTop / preprocessing.scaleBottom;
      if (!preprocessing.mean.empty())
        value -= preprocessing.mean[0];
      if (!preprocessing.std.empty())
        value /= preprocessing.std[0];
      values[i] = float(value);
    }
  std::vector<double> wide;
  for (int64_t k = 0; k < count; ++k, out += bytes) {
    const char *in = array.data + fileBytes * size_t(indices[k]);
    if (same) {
      std::memcpy(out, in, bytes);
    } else if (table) {
      float *row = reinterpret_cast<float *>(out);
      for (int64_t i = 0; i < n; ++i)
        row[i] = values[static_cast<unsigned char>(in[i])];
    } else if (preprocessing.plain() && !transposed) {
      convertElements(array.type, in, type, out, n);
    } else {
      convertGeneral(*this, in, wide, out);
    }
  }
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

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
              " channels, but " + std::to_string(target->size()) +
              " numbers are given",
          "give one number or one a channel");
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

/// A name of `--scale` and its like that no argument has would do nothing, and
/// so would one of two that mean the same argument.
static Status checkNames(const DataOptions &options,
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

/// How many labels the losses read.
static int64_t countLabels(const DataOptions &options,
                           const manifest::Entry &entry) {
  return std::count_if(entry.arguments().begin(), entry.arguments().end(),
                       [&](const manifest::Binding &binding) {
                         return binding.role() == manifest::Binding::LABEL &&
                                binding.name() != options.sampleWeights;
                       });
}

/// Weights of 1.
static HostArray makeOnes(int64_t count) {
  auto ones = std::make_shared<std::vector<float>>(count, 1.0f);
  HostArray array;
  array.type = manifest::F32;
  array.shape = {count};
  array.data = reinterpret_cast<const char *>(ones->data());
  array.owner = ones;
  return array;
}

Status Dataset::add(Column column, const DataOptions &options,
                    const manifest::Binding &binding, bool first) {
  column.name = binding.name();
  column.label = binding.role() == manifest::Binding::LABEL;
  const manifest::TensorType &type = binding.global_type();
  if (binding.batch_dim() != 0 || type.shape_size() == 0)
    return unfit("input has no batch dim", binding.name(),
                 "examples are laid along dim 0",
                 "use a model with a batch dim in front, and no --dim "
                 "for it");
  column.type = type.type();
  column.exampleShape.assign(type.shape().begin() + 1, type.shape().end());
  DIST_RETURN_IF_ERROR(setPreprocessing(options, column, first));
  DIST_RETURN_IF_ERROR(checkValues(column, binding));
  int64_t examples = column.array.shape[0];
  if (!table.empty() && examples != count)
    return unfit("data differ in length", column.name,
                 "it has " + std::to_string(examples) + " examples, '" +
                     table[0].name + "' has " + std::to_string(count),
                 "give files of the same examples");
  count = examples;
  table.push_back(std::move(column));
  return Status();
}

Status Dataset::ofArrays(std::vector<HostArray> arrays,
                         const manifest::Entry &entry,
                         std::unique_ptr<Dataset> *out) {
  auto data = std::make_unique<Dataset>();
  size_t next = 0, wanted = 0;
  for (const manifest::Binding &binding : entry.arguments()) {
    if (binding.role() != manifest::Binding::LABEL &&
        binding.role() != manifest::Binding::INPUT)
      continue;
    ++wanted;
    if (next == arrays.size())
      continue;
    Column column;
    column.soleLabel = binding.role() == manifest::Binding::LABEL &&
                       countLabels(DataOptions(), entry) == 1;
    column.array = std::move(arrays[next++]);
    DIST_RETURN_IF_ERROR(data->add(std::move(column), DataOptions(), binding,
                                   /*first=*/false));
  }
  if (wanted != arrays.size() || next != wanted)
    return Status::error(StatusCode::InvalidArgument, "wrong number of columns",
                         entry.name(),
                         "expected " + std::to_string(wanted) + ", but got " +
                             std::to_string(arrays.size()));
  if (data->count == 0)
    return Status::error(StatusCode::InvalidInput, "no examples", entry.name(),
                         "the data are empty", "give at least one example");
  *out = std::move(data);
  return Status();
}

Status Dataset::open(const DataOptions &options, const manifest::Entry &entry,
                     std::unique_ptr<Dataset> *out) {
  DIST_RETURN_IF_ERROR(checkNames(options, entry));
  std::vector<NamedArray> arrays;
  DIST_RETURN_IF_ERROR(
      readDataSpec(options.spec, options.validation, &arrays, options.access));
  auto data = std::make_unique<Dataset>();
  std::vector<bool> used(arrays.size(), false);
  bool first = true;
  std::string names;
  for (const manifest::Binding &binding : entry.arguments()) {
    bool label = binding.role() == manifest::Binding::LABEL;
    if (!label && binding.role() != manifest::Binding::INPUT)
      continue;
    names += (names.empty() ? "" : ", ") + binding.name();
    Column column;
    bool weights = label && binding.name() == options.sampleWeights;
    column.soleLabel = label && !weights && countLabels(options, entry) == 1;
    std::vector<std::string> wanted = {binding.name()};
    if (column.soleLabel)
      wanted.insert(wanted.end(), {"label", "y"});
    else if (first && !label)
      wanted.push_back("x");
    size_t found = arrays.size();
    for (const std::string &word : wanted)
      for (size_t i = 0; i < arrays.size() && found == arrays.size(); ++i)
        if (!used[i] && arrays[i].name == word)
          found = i;
    bool alike = found == arrays.size() && weights && options.validation;
    if (found == arrays.size() && !alike)
      return unfit(weights ? "no weights of the examples"
                           : "no data for the model's " +
                                 std::string(label ? "label" : "input"),
                   binding.name(), "--data does not name it",
                   "add " + (column.soleLabel ? "label" : binding.name()) +
                       "=FILE");
    if (alike) {
      data->alike = true;
      column.array = makeOnes(data->count);
    } else {
      used[found] = true;
      column.array = std::move(arrays[found].array);
    }
    DIST_RETURN_IF_ERROR(
        data->add(std::move(column), options, binding, first && !label));
    if (!label)
      first = false;
  }
  for (size_t i = 0; i < arrays.size(); ++i)
    // Archives may hold more than a model wants; a pair names what it wants.
    if (!used[i] &&
        options.spec.find(arrays[i].name + "=") != std::string::npos)
      return unfit("the model has no such input", arrays[i].name,
                   "it has " + names, "leave it out of --data");
  if (data->count == 0)
    return Status::error(StatusCode::InvalidInput, "no examples", options.spec,
                         "the data are empty", "give at least one example");
  if (options.cache)
    for (Column &column : data->table) {
      if (column.direct())
        continue;
      auto decoded = std::make_shared<std::string>(
          column.exampleBytes() * size_t(data->count), '\0');
      for (int64_t i = 0; i < data->count; ++i)
        column.gather(&i, 1, decoded->data() + column.exampleBytes() * i);
      Column ready;
      ready.name = column.name;
      ready.label = column.label;
      ready.soleLabel = column.soleLabel;
      ready.type = column.type;
      ready.exampleShape = column.exampleShape;
      ready.array.type = column.type;
      ready.array.shape = column.exampleShape;
      ready.array.shape.insert(ready.array.shape.begin(), data->count);
      ready.array.data = decoded->data();
      ready.array.owner = decoded;
      column = std::move(ready);
    }
  *out = std::move(data);
  return Status();
}

Status Dataset::split(double fraction, std::unique_ptr<Dataset> *rest) {
  int64_t first = int64_t(std::floor(double(count) * (1 - fraction)));
  if (first <= 0 || first >= count)
    return Status::error(StatusCode::InvalidInput, "cannot split the data",
                         "--validation-split",
                         "of " + std::to_string(count) + " examples " +
                             std::to_string(first) + " would be trained on",
                         "give another fraction, or --validation-data");
  auto cut = std::make_unique<Dataset>(*this);
  cut->count = count - first;
  count = first;
  for (size_t i = 0; i < table.size(); ++i) {
    HostArray &head = table[i].array, &tail = cut->table[i].array;
    head.shape[0] = first;
    tail.shape[0] = cut->count;
    tail.data += head.view().bytes();
  }
  *rest = std::move(cut);
  return Status();
}

std::unique_ptr<Dataset> Dataset::random(const manifest::Entry &entry,
                                         int64_t examples, uint64_t seed) {
  auto data = std::make_unique<Dataset>();
  data->count = examples;
  uint64_t counter = 0;
  for (const manifest::Binding &binding : entry.arguments()) {
    bool label = binding.role() == manifest::Binding::LABEL;
    if (!label && binding.role() != manifest::Binding::INPUT)
      continue;
    const manifest::TensorType &type = binding.global_type();
    Column column;
    column.name = binding.name();
    column.label = label;
    column.type = type.type();
    if (binding.batch_dim() == 0 && type.shape_size() > 0)
      column.exampleShape.assign(type.shape().begin() + 1, type.shape().end());
    else
      column.exampleShape.assign(type.shape().begin(), type.shape().end());
    column.array.type = column.type;
    column.array.shape = column.exampleShape;
    column.array.shape.insert(column.array.shape.begin(), examples);
    size_t n = elementCount(column.array.shape);
    auto bytes = std::make_shared<std::string>(n * byteSize(column.type), '\0');
    std::vector<double> values(n);
    IntegerRanges ranges = indexRanges(binding);
    size_t place = 0;
    for (double &value : values) {
      int64_t end = ranges[place++ % ranges.size()].end;
      double range = end > 0 ? double(end) : 2;
      uint64_t bits = mixBits(seed, 0, counter++) >> 11;
      double unit = double(bits) / double(uint64_t(1) << 53);
      value =
          isFloat(column.type) && end == 0 ? unit : std::floor(unit * range);
    }
    convertElements(manifest::F64, values.data(), column.type, bytes->data(),
                    n);
    column.array.data = bytes->data();
    column.array.owner = bytes;
    data->table.push_back(std::move(column));
  }
  return data;
}

int64_t Dataset::findNonfinite(size_t column,
                               const std::vector<int64_t> &indices) const {
  const Column &c = table[column];
  if (!isFloat(c.array.type))
    return -1;
  int64_t n = c.exampleElements();
  for (int64_t index : indices)
    for (int64_t i = 0; i < n; ++i)
      if (!std::isfinite(
              elementAsDouble(c.array.type, c.array.data, index * n + i)))
        return index;
  return -1;
}

} // namespace dist
