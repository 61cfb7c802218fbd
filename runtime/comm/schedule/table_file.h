//===- table_file.h - A table of numbers, as a JSON file --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// {"version": 1, "LIST": [{...}, ...]}: rows of texts and numbers, and numbers
// beside the list. People edit such files: what is wrong is told by its line.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_SCHEDULE_TABLE_FILE_H
#define RUNTIME_COMM_SCHEDULE_TABLE_FILE_H

#include "runtime/core/status.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dist {

/// One object of the list, and the line that it begins in.
struct TableRow {
  int64_t line = 1;
  std::map<std::string, std::string> texts;
  std::map<std::string, double> numbers;
  std::map<std::string, int64_t> lines; // of each
};

class TableFile {
public:
  /// `what` is read, such as "the links"; `todo` is what to do where it is
  /// wrong.
  TableFile(std::string what, std::string todo)
      : what(std::move(what)), todo(std::move(todo)) {}

  /// `beside`: the numbers that the file may have beside its list and version;
  /// `ofRows`: what rows may have. Another name is an error: what it says would
  /// be lost without a word.
  Status read(const std::string &file, const std::string &list,
              const std::vector<std::string> &beside,
              const std::vector<std::string> &ofRows);

  /// Beside the list; `missing` where it is not there.
  Status takeNumber(const char *name, double missing, double *out) const;
  const std::vector<TableRow> &rows() const { return list; }

  // Of a row, which must have them:
  Status takeText(const TableRow &row, const char *name,
                  std::string *out) const;
  /// Finite, and not negative.
  Status takeNumber(const TableRow &row, const char *name, double *out) const;
  Status takePositive(const TableRow &row, const char *name, double *out) const;
  /// At least 1.
  Status takeCount(const TableRow &row, const char *name, int64_t *out) const;

  /// The table is wrong there.
  Status wrong(int64_t line, const std::string &why) const;

private:
  friend class TableReader;
  Status checkNames(const TableRow &row,
                    const std::vector<std::string> &known) const;
  std::string what, todo, path;
  TableRow beside;
  std::vector<TableRow> list;
};

} // namespace dist

#endif // RUNTIME_COMM_SCHEDULE_TABLE_FILE_H
