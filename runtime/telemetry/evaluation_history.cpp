//===- evaluation_history.cpp - A line a state that was evaluated ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/telemetry/evaluation_history.h"
#include "runtime/formats/file.h"
#include "runtime/formats/json.h"
#include "runtime/formats/links.h"
#include <algorithm>
#include <sys/stat.h>

namespace dist {

using nlohmann::json;

/// Which state a line is of; false: it is no such line.
static bool readRow(std::string_view line, EvaluationRow *out) {
  json row = parseJson(line);
  auto number = [&](const char *key, int64_t *to) {
    auto found = row.find(key);
    if (found == row.end() || !found->is_number_integer())
      return false;
    *to = found->get<int64_t>();
    return true;
  };
  if (!row.is_object() || !row.contains("kind") ||
      row["kind"] != "evaluation" || !row.contains("run") ||
      !row["run"].is_string() || !number("step", &out->step) ||
      !number("run_epoch", &out->runEpoch))
    return false;
  out->run = row["run"].get<std::string>();
  return true;
}

/// Whether a line that ends too early was to become one.
static bool beginsRow(std::string_view tail) {
  const std::string_view start = "{\"kind\":\"evaluation\",";
  const size_t common = std::min(tail.size(), start.size());
  return tail.substr(0, common) == start.substr(0, common);
}

static Status otherLine(const std::string &path, std::string_view line) {
  return Status::error(StatusCode::InvalidInput,
                       "the file holds other lines than of evaluated states",
                       path, "'" + std::string(line.substr(0, 40)) + "'",
                       "give a file of its own");
}

/// Two that go on with one file would both evaluate what is new, and repair
/// each other's lines.
Status EvaluationHistory::takeLock(const std::string &path, std::string *note) {
  std::string owner;
  DIST_RETURN_IF_ERROR(lock.take(path + ".lock", &owner, note));
  if (!note->empty())
    *note += ": see that nobody else writes " + path;
  return owner.empty()
             ? Status()
             : Status::error(StatusCode::Unavailable,
                             "another evaluator writes this history", path,
                             owner, "end it, or give a history of its own");
}

Status EvaluationHistory::open(const std::string &path,
                               std::vector<EvaluationRow> *known,
                               std::string *note) {
  struct stat info;
  const bool isThere = stat(path.c_str(), &info) == 0;
  if ((isThere && !S_ISREG(info.st_mode)) || ownDescriptor(path) >= 0)
    return file.open(path, /*truncate=*/false);
  DIST_RETURN_IF_ERROR(takeLock(path, note));
  // Whoever had the lock may have made it meanwhile.
  if (stat(path.c_str(), &info) != 0)
    return file.open(path, /*truncate=*/false);
  std::shared_ptr<const FileBytes> bytes;
  DIST_RETURN_IF_ERROR(FileBytes::open(path, &bytes));
  const std::string_view text = bytes->bytes();
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string_view::npos;
       begin = end + 1) {
    EvaluationRow row;
    const std::string_view line = text.substr(begin, end - begin);
    if (!readRow(line, &row))
      return otherLine(path, line);
    known->push_back(std::move(row));
  }
  if (!beginsRow(text.substr(begin)))
    return otherLine(path, text.substr(begin));
  if (begin < text.size())
    DIST_RETURN_IF_ERROR(writeFile(path, text.substr(0, begin)));
  return file.open(path, /*truncate=*/false);
}

Status EvaluationHistory::add(const EvaluationRow &row) {
  return file.append(toJson(row) + "\n");
}

} // namespace dist
