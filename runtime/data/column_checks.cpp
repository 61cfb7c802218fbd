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

static std::string exampleOf(const Column &column, int64_t element) {
  int64_t width = std::max<int64_t>(column.exampleElements(), 1);
  return "example " + std::to_string(element / width);
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
  int64_t n = elementCount(column.array.shape);
  for (int64_t i = 0; i < n; ++i) {
    double value = elementAsDouble(column.array.type, column.array.data, i);
    if (!isIntegerWithin(value, low, end))
      return {exampleOf(column, i), formatNumber(value), {}};
  }
  return {};
}

/// The first that is no integer of its range.
static Misfit findMisfit(const Column &column, const IntegerRanges &ranges) {
  if (isFloat(column.array.type) || column.array.type == manifest::BOOL) {
    int64_t n = elementCount(column.array.shape);
    for (int64_t i = 0; i < n; ++i) {
      IntegerRange range = ranges[i % ranges.size()];
      double value = elementAsDouble(column.array.type, column.array.data, i);
      if (!range.empty() && !isIntegerWithin(value, range.low, range.end))
        return {exampleOf(column, i), formatNumber(value), range};
    }
    return {};
  }
  // A file may hold very many.
  Stray stray = findStray(column.array.view(), ranges);
  if (stray.position < 0)
    return {};
  return {exampleOf(column, stray.position), stray.value, stray.range};
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
               "check the label file and the model's number of classes");
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
