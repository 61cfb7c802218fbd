//===- sorted_table.h - LevelDB's table files -------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names and values in blocks of names that share their beginnings. TensorFlow's
// checkpoints have their index so (LevelDB's doc/table_format.md).
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_SORTED_TABLE_H
#define RUNTIME_FORMATS_SORTED_TABLE_H

#include "runtime/core/status.h"
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dist {

/// A name and its value, which is a part of the table's bytes.
using SortedTable = std::vector<std::pair<std::string, std::string_view>>;

/// All of a table, in its order; every block's checksum is compared. `where`
/// names it in errors. Compressed blocks are refused: what writes checkpoints
/// does not compress them.
Status parseSortedTable(std::string_view bytes, const std::string &where,
                        SortedTable *out);

} // namespace dist

#endif // RUNTIME_FORMATS_SORTED_TABLE_H
