//===- dataset.cpp - Examples for the inputs of a program -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/dataset.h"
#include "runtime/core/indices.h"
#include "runtime/data/column_checks.h"
#include "runtime/data/preprocessing.h"
#include "runtime/data/shuffle.h"
#include "runtime/formats/convert.h"
#include <algorithm>
#include <cmath>

namespace dist {

static int64_t countLabels(const manifest::Entry &entry) {
  return std::count_if(entry.arguments().begin(), entry.arguments().end(),
                       [](const manifest::Binding &binding) {
                         return binding.role() == manifest::Binding::LABEL;
                       });
}

Status Dataset::add(Column column, const DataOptions &options,
                    const manifest::Binding &binding, bool first) {
  DIST_RETURN_IF_ERROR(bindColumn(options, binding, first, column));
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
    column.soleLabel =
        binding.role() == manifest::Binding::LABEL && countLabels(entry) == 1;
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
    if (table[i].stored)
      cut->table[i].firstStored += first;
    else
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
  std::string decoded;
  for (int64_t index : indices) {
    if (c.stored)
      c.readStored(&index, 1, &decoded);
    const char *data = c.stored ? decoded.data() : c.array.data;
    int64_t start = c.stored ? 0 : index * n;
    for (int64_t i = 0; i < n; ++i)
      if (!std::isfinite(elementAsDouble(c.array.type, data, start + i)))
        return index;
  }
  return -1;
}

} // namespace dist
