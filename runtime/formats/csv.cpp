//===- csv.cpp - Tables of numbers as text ------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/arrays.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <set>

namespace dist {

static std::string_view trim(std::string_view cell) {
  while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t'))
    cell.remove_prefix(1);
  while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t'))
    cell.remove_suffix(1);
  if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
    cell = cell.substr(1, cell.size() - 2);
  return cell;
}

static bool readCell(std::string_view cell, double *value) {
  if (!cell.empty() && cell[0] == '+')
    cell.remove_prefix(1);
  auto [end, error] =
      std::from_chars(cell.data(), cell.data() + cell.size(), *value);
  return error == std::errc() && end == cell.data() + cell.size();
}

namespace {

/// A table's cells as integers, where it has nothing else and f64 would round
/// one of them: a number of 64 bits is another row or user then.
class ExactCells {
public:
  /// `before`: the cells before this one.
  void add(std::string_view cell, double value,
           const std::vector<double> &before) {
    if (!used && std::fabs(value) < kRounded)
      return; // as nearly all are
    if (!cell.empty() && cell[0] == '+')
      cell.remove_prefix(1);
    int64_t integer = 0;
    auto [end, error] =
        std::from_chars(cell.data(), cell.data() + cell.size(), integer);
    bool isWhole = error == std::errc() && end == cell.data() + cell.size();
    if (!used && isWhole) {
      used = true;
      for (double one : before)
        push(one);
    }
    if (!used)
      return;
    if (isWhole)
      cells->push_back(integer);
    else
      push(value);
  }
  /// Null: the table's numbers are f64's.
  std::shared_ptr<std::vector<int64_t>> take() const {
    return used && exact ? cells : nullptr;
  }

private:
  /// From here on f64 has not every integer.
  static constexpr double kRounded = 9007199254740992.0;

  void push(double value) {
    exact = exact && std::fabs(value) < kRounded && std::trunc(value) == value;
    cells->push_back(exact ? int64_t(value) : 0);
  }

  bool used = false, exact = true;
  std::shared_ptr<std::vector<int64_t>> cells =
      std::make_shared<std::vector<int64_t>>();
};

} // namespace

/// The comma behind the first cell, which may have some within its quotes.
static size_t endOfCell(std::string_view line) {
  size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  size_t quote = begin < line.size() && line[begin] == '"'
                     ? line.find('"', begin + 1)
                     : std::string_view::npos;
  return line.find(',', quote == std::string_view::npos ? 0 : quote);
}

/// Whether these can be the names of columns, as of a table's first line. A
/// line of numbers of which one is missing, or damaged, would be lost as such.
static bool areNames(const std::vector<std::string> &cells) {
  std::set<std::string> known;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string &cell = cells[i];
    double value = 0;
    // pandas numbers the columns of what has no names, and leaves the one of
    // its own numbers of the rows, which is the first, without.
    bool isCount = cell.find_first_not_of("0123456789") == std::string::npos;
    if (cell.empty() ? i > 0 : readCell(cell, &value) && !isCount)
      return false;
    if (!known.insert(cell).second)
      return false;
  }
  return true;
}

Status parseCsv(std::string_view bytes, const std::string &where,
                HostArray *out, std::vector<std::string> *columns) {
  auto damaged = [&](size_t line, const std::string &why) {
    return Status::error(
        StatusCode::InvalidInput, "malformed CSV",
        where + ":" + std::to_string(line), why,
        "give one example a line, numbers separated by commas");
  };
  auto cells = std::make_shared<std::vector<double>>();
  ExactCells exact;
  size_t width = 0, rows = 0, number = 0;
  columns->clear();
  if (bytes.substr(0, 3) == "\xef\xbb\xbf")
    bytes.remove_prefix(3);
  while (!bytes.empty()) {
    size_t end = std::min(bytes.find('\n'), bytes.size());
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    ++number;
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    if (trim(line).empty())
      continue;
    size_t before = cells->size(), count = 0;
    std::vector<std::string> names;
    std::string wrong;
    for (bool more = true; more;) {
      size_t comma = endOfCell(line);
      std::string_view cell = trim(line.substr(0, comma));
      more = comma != std::string_view::npos;
      if (more)
        line.remove_prefix(comma + 1);
      double value = 0;
      if (!readCell(cell, &value) && wrong.empty())
        wrong = "'" + std::string(cell.substr(0, 40)) + "' is no number";
      if (rows == 0)
        names.emplace_back(cell);
      if (wrong.empty())
        exact.add(cell, value, *cells);
      cells->push_back(value);
      ++count;
    }
    if (!wrong.empty()) {
      if (rows > 0 || !columns->empty() || !areNames(names))
        return damaged(number, wrong);
      cells->resize(before);
      exact = ExactCells();
      *columns = std::move(names);
      width = columns->size();
      continue;
    }
    if (width && count != width)
      return damaged(number, "expected " + std::to_string(width) +
                                 " cells, but got " + std::to_string(count));
    width = count;
    ++rows;
  }
  if (rows == 0)
    return damaged(number, "there are no rows of numbers");
  out->type = manifest::F64;
  out->shape = {int64_t(rows), int64_t(width)};
  out->data = reinterpret_cast<const char *>(cells->data());
  out->owner = cells;
  if (auto integers = exact.take()) {
    out->type = manifest::I64;
    out->data = reinterpret_cast<const char *>(integers->data());
    out->owner = integers;
  }
  return Status();
}

std::shared_ptr<const std::vector<std::string>>
shareNames(const std::vector<std::string> &columns) {
  return columns.empty()
             ? nullptr
             : std::make_shared<const std::vector<std::string>>(columns);
}

void splitLabel(const HostArray &table, const std::vector<std::string> &columns,
                std::vector<NamedArray> *out) {
  size_t rows = table.shape[0], width = table.shape[1];
  if (width == 1) {
    HostArray column = table;
    column.shape = {int64_t(rows)};
    out->push_back(
        {"", std::move(column), nullptr, 0, true, shareNames(columns)});
    return;
  }
  size_t label = width - 1;
  // The plainest word first: y may be a coordinate beside it.
  for (const char *name : {"label", "target", "class", "y"}) {
    auto found = std::find(columns.begin(), columns.end(), name);
    if (found == columns.end())
      continue;
    label = size_t(found - columns.begin());
    break;
  }
  // Cells of either type have as many bytes.
  auto values = std::make_shared<std::vector<int64_t>>();
  auto labels = std::make_shared<std::vector<int64_t>>();
  values->reserve(rows * (width - 1));
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < width; ++c)
      std::memcpy(&(c == label ? *labels : *values).emplace_back(),
                  table.data + (r * width + c) * sizeof(int64_t),
                  sizeof(int64_t));
  auto wrap = [&](auto &owner, std::vector<int64_t> shape) {
    return HostArray{table.type, std::move(shape),
                     reinterpret_cast<const char *>(owner->data()), owner};
  };
  std::vector<std::string> others = columns, own;
  if (!columns.empty()) {
    own = {columns[label]};
    others.erase(others.begin() + int64_t(label));
  }
  out->push_back({"", wrap(values, {int64_t(rows), int64_t(width - 1)}),
                  nullptr, 0, true, shareNames(others)});
  out->push_back({"label", wrap(labels, {int64_t(rows)}), nullptr, 0, true,
                  shareNames(own)});
}

} // namespace dist
