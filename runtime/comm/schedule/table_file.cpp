//===- table_file.cpp - A table of numbers, as a JSON file ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/schedule/table_file.h"
#include "runtime/core/near_word.h"
#include "runtime/formats/text_file.h"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace dist {

/// The version of both tables that this build reads.
static constexpr double knownVersion = 1;

namespace {
/// Characters of a text; counts the lines that were read.
class LineCounter {
public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;
  using Text = std::string_view::const_iterator;

  LineCounter() = default;
  LineCounter(Text at, int64_t *lines) : at(at), lines(lines) {}
  reference operator*() const { return *at; }
  LineCounter &operator++() {
    *lines += *at++ == '\n';
    return *this;
  }
  LineCounter operator++(int) {
    LineCounter before = *this;
    ++*this;
    return before;
  }
  bool operator==(const LineCounter &other) const { return at == other.at; }
  bool operator!=(const LineCounter &other) const { return at != other.at; }

private:
  Text at{};
  int64_t *lines = nullptr;
};
} // namespace

/// Takes the file's values one by one; the first that is wrong ends it.
class TableReader : public nlohmann::json_sax<nlohmann::json> {
public:
  TableReader(TableFile &table, std::string list, const int64_t &line)
      : table(table), list(std::move(list)), line(line) {}

  Status status;

  bool null() override { return refuse("null is no value of a table"); }
  bool boolean(bool) override {
    return refuse("true and false are no values of a table");
  }
  bool number_integer(number_integer_t value) override {
    return add(double(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return add(double(value));
  }
  bool number_float(number_float_t value, const string_t &) override {
    return add(value);
  }
  bool string(string_t &value) override {
    if (depth == inList || depth == outside)
      return refuse(expected());
    current().lines.emplace(name, line);
    return current().texts.emplace(name, value).second || givenTwice();
  }
  bool binary(binary_t &) override { return refuse("it is no JSON"); }
  bool start_object(std::size_t) override {
    if (depth != outside && depth != inList)
      return refuse(expected());
    if (depth == inList) {
      table.list.emplace_back();
      table.list.back().line = line;
    }
    depth = depth == outside ? inFile : inRow;
    return true;
  }
  bool end_object() override {
    depth = depth == inRow ? inList : outside;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth != inFile || name != list)
      return refuse(expected());
    if (hasList)
      return givenTwice();
    hasList = true;
    depth = inList;
    return true;
  }
  bool end_array() override {
    depth = inFile;
    return true;
  }
  bool key(string_t &value) override {
    name = value;
    return true;
  }
  bool parse_error(std::size_t, const std::string &token,
                   const nlohmann::detail::exception &) override {
    return refuse(isCut ? "the file ends too early"
                        : "it is no JSON at '" + token + "'");
  }

  bool hasList = false;
  /// Whether the text does not end as a table does.
  bool isCut = false;

private:
  enum Depth { outside, inFile, inList, inRow };

  TableRow &current() {
    return depth == inRow ? table.list.back() : table.beside;
  }
  bool add(double value) {
    if (depth == inList || depth == outside)
      return refuse(expected());
    current().lines.emplace(name, line);
    return current().numbers.emplace(name, value).second || givenTwice();
  }
  std::string expected() const {
    return "expected {\"version\": 1, \"" + list +
           "\": [{...}, ...]}, whose rows have texts and numbers";
  }
  bool givenTwice() { return refuse("'" + name + "' is given twice"); }
  bool refuse(const std::string &why) {
    if (status.ok())
      status = table.wrong(line, why);
    return false;
  }

  TableFile &table;
  std::string list;
  const int64_t &line;
  Depth depth = outside;
  std::string name;
};

Status TableFile::wrong(int64_t line, const std::string &why) const {
  return Status::error(StatusCode::InvalidInput, "cannot read " + what,
                       path + ", line " + std::to_string(line), why, todo);
}

Status TableFile::checkNames(const TableRow &row,
                             const std::vector<std::string> &known) const {
  for (auto &[name, line] : row.lines)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return wrong(line,
                   "there is no '" + name + "'; " + suggestWord(name, known));
  return Status();
}

Status TableFile::read(const std::string &file, const std::string &listName,
                       const std::vector<std::string> &besideNames,
                       const std::vector<std::string> &ofRows) {
  path = file;
  std::string bytes;
  DIST_RETURN_IF_ERROR(readText(file, &bytes));
  std::string_view text = bytes;
  int64_t line = 1;
  TableReader reader(*this, listName, line);
  // A line that ends the file is none that something is missing in.
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  reader.isCut = text.empty() || text.back() != '}';
  bool good =
      nlohmann::json::sax_parse(LineCounter(text.begin(), &line),
                                LineCounter(text.end(), &line), &reader);
  DIST_RETURN_IF_ERROR(reader.status);
  if (!good || !reader.hasList)
    return wrong(line, "it has no list '" + listName + "'");
  auto version = beside.numbers.find("version");
  if (version == beside.numbers.end())
    return wrong(1, "it does not say its version; this build reads 1");
  if (version->second != knownVersion)
    return wrong(1, "it is of version " +
                        nlohmann::json(version->second).dump() +
                        "; this build reads 1");
  std::vector<std::string> known = {"version"};
  known.insert(known.end(), besideNames.begin(), besideNames.end());
  DIST_RETURN_IF_ERROR(checkNames(beside, known));
  for (const TableRow &row : list)
    DIST_RETURN_IF_ERROR(checkNames(row, ofRows));
  return Status();
}

Status TableFile::takeNumber(const char *name, double missing,
                             double *out) const {
  auto found = beside.numbers.find(name);
  *out = found == beside.numbers.end() ? missing : found->second;
  return *out >= 0 ? Status()
                   : wrong(1, std::string("'") + name + "' is negative");
}

Status TableFile::takeText(const TableRow &row, const char *name,
                           std::string *out) const {
  auto found = row.texts.find(name);
  if (found == row.texts.end())
    return wrong(row.line, std::string("expected a text '") + name + "'");
  *out = found->second;
  return Status();
}

Status TableFile::takeNumber(const TableRow &row, const char *name,
                             double *out) const {
  auto found = row.numbers.find(name);
  if (found == row.numbers.end() || !std::isfinite(found->second) ||
      found->second < 0)
    return wrong(row.line, std::string("expected a number '") + name +
                               "' that is not negative");
  *out = found->second;
  return Status();
}

Status TableFile::takePositive(const TableRow &row, const char *name,
                               double *out) const {
  DIST_RETURN_IF_ERROR(takeNumber(row, name, out));
  return *out > 0 ? Status()
                  : wrong(row.line,
                          std::string("expected a positive '") + name + "'");
}

Status TableFile::takeCount(const TableRow &row, const char *name,
                            int64_t *out) const {
  double number = 0;
  DIST_RETURN_IF_ERROR(takeNumber(row, name, &number));
  constexpr double most = 1e15;
  if (number < 1 || number > most || number != std::floor(number))
    return wrong(row.line, std::string("expected a whole number '") + name +
                               "' of at least 1");
  *out = int64_t(number);
  return Status();
}

} // namespace dist
