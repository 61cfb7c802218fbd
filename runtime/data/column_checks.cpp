//===- column_checks.cpp - What a program can take of data ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/column_checks.h"
#include "runtime/core/indices.h"
#include "runtime/formats/convert.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

namespace dist {

Status unfit(const std::string &what, const std::string &name,
             const std::string &why, const std::string &todo) {
  return Status::error(StatusCode::InvalidInput, what, "'" + name + "'", why,
                       todo);
}

namespace {
/// An element that a program's argument cannot take.
struct Misfit {
  std::string example; // "example 3"; empty: there is none
  std::string value;
  IntegerRange range; // of indices and labels
};
} // namespace

/// Examples that are decoded at once to be checked.
static constexpr int64_t kBlock = 256;

static std::string exampleOf(const Column &column, int64_t element) {
  int64_t width = std::max<int64_t>(column.exampleElements(), 1);
  return "example " + std::to_string(element / width);
}

/// The first that `find` has found of the data, whose first element has the
/// number that it is told; of stored examples it sees some at a time.
template <typename Find>
static Misfit findInBlocks(const Column &column, Find find) {
  if (!column.stored)
    return find(column.array.view(), int64_t(0));
  int64_t examples = column.array.shape[0];
  std::string decoded;
  std::vector<int64_t> indices;
  for (int64_t first = 0; first < examples; first += kBlock) {
    indices.resize(std::min(kBlock, examples - first));
    std::iota(indices.begin(), indices.end(), first);
    column.readStored(indices.data(), int64_t(indices.size()), &decoded);
    TensorView block = column.array.view();
    block.shape[0] = int64_t(indices.size());
    block.data = decoded.data();
    Misfit misfit = find(block, first * column.exampleElements());
    if (!misfit.example.empty())
      return misfit;
  }
  return {};
}

static bool isIntegerWithin(double value, double low, double end) {
  return std::nearbyint(value) == value && value >= low && value < end;
}

static std::string formatNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.12g", value);
  return text;
}

/// The first that is no integer from `low` to below `end`.
static Misfit findMisfit(const Column &column, double low, double end) {
  return findInBlocks(column, [&](const TensorView &data, int64_t first) {
    int64_t n = elementCount(data.shape);
    for (int64_t i = 0; i < n; ++i) {
      double value = elementAsDouble(data.type, data.data, i);
      if (!isIntegerWithin(value, low, end))
        return Misfit{exampleOf(column, first + i), formatNumber(value), {}};
    }
    return Misfit();
  });
}

/// The first that is no integer of its range.
static Misfit findMisfit(const Column &column, const IntegerRanges &ranges) {
  return findInBlocks(column, [&](const TensorView &data, int64_t first) {
    if (!isFloat(data.type) && data.type != manifest::BOOL) {
      // A file may hold very many.
      Stray stray = findStray(data, ranges);
      return stray.position < 0
                 ? Misfit()
                 : Misfit{exampleOf(column, first + stray.position),
                          stray.value, stray.range};
    }
    int64_t n = elementCount(data.shape);
    for (int64_t i = 0; i < n; ++i) {
      IntegerRange range = ranges[(first + i) % ranges.size()];
      double value = elementAsDouble(data.type, data.data, i);
      bool isOther = range.other && value == double(*range.other);
      if (!range.empty() && !isOther &&
          !isIntegerWithin(value, range.low, range.end))
        return Misfit{exampleOf(column, first + i), formatNumber(value), range};
    }
    return Misfit();
  });
}

static bool areEmpty(const IntegerRanges &ranges) {
  return std::all_of(ranges.begin(), ranges.end(),
                     [](IntegerRange range) { return range.empty(); });
}

/// Labels in a file may have any number type; as classes they must be integers
/// within range.
static Status checkLabels(const Column &column, const IntegerRanges &classes) {
  bool any = areEmpty(classes);
  if (isFloat(column.type) && any)
    return Status();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Misfit misfit = any ? findMisfit(column, -infinity, infinity)
                      : findMisfit(column, classes);
  if (misfit.example.empty())
    return Status();
  return unfit("labels out of range", column.name,
               misfit.example + " has label " + misfit.value + ", " +
                   (any ? "expected integers" : describe(misfit.range)),
               "check the label file and the model's number of classes; a "
               "number for what is not to count (-100 in PyTorch) is named by "
               "the loss: sparse-categorical-crossentropy:ignore-index=-100");
}

/// Integers that index a table of the model.
static Status checkRows(const Column &column, const IntegerRanges &rows) {
  if (areEmpty(rows) || isFloat(column.type))
    return Status();
  Misfit misfit = findMisfit(column, rows);
  if (misfit.example.empty())
    return Status();
  return unfit("indices out of range", column.name,
               misfit.example + " holds " + misfit.value + " for a table of " +
                   std::to_string(misfit.range.end) + " rows, " +
                   describe(misfit.range),
               "check how the file was numbered against the size of the "
               "model's table");
}

namespace {
/// The numbers from `low` to below `end`.
struct TypeRange {
  double low, end;
};
TypeRange rangeOf(DataType type) {
  int bits = 8 * int(byteSize(type)) - !isUnsigned(type);
  return {isUnsigned(type) ? 0.0 : -std::ldexp(1.0, bits),
          std::ldexp(1.0, bits)};
}
} // namespace

/// Data of an input of integers may have another type, but no fractions, and
/// nothing beyond the input's range. Checked once, so that no step has to.
static Status checkIntegers(const Column &column) {
  DataType from = column.array.type;
  if (from == column.type || from == manifest::BOOL || isFloat(column.type) ||
      column.type == manifest::BOOL)
    return Status();
  TypeRange range = rangeOf(column.type);
  if (!isFloat(from) && rangeOf(from).low >= range.low &&
      rangeOf(from).end <= range.end)
    return Status();
  Misfit misfit = findMisfit(column, range.low, range.end);
  if (misfit.example.empty())
    return Status();
  return unfit("data do not fit the model", column.name,
               misfit.example + " holds " + misfit.value +
                   ", and the input is of type " + name(column.type),
               "give numbers that the type can hold");
}

Status checkValues(const Column &column, const manifest::Binding &binding) {
  IntegerRanges ranges = indexRanges(binding);
  if (column.label)
    return checkLabels(column, ranges);
  DIST_RETURN_IF_ERROR(checkIntegers(column));
  return checkRows(column, ranges);
}

} // namespace dist
