//===- arrays.h - Data files of any known form -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a file as named arrays: .npy, .npz, IDX, safetensors, TFRecord, CSV,
// CIFAR-10's binary form; gzip of any of them. The form is told by content.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_ARRAYS_H
#define RUNTIME_FORMATS_ARRAYS_H

#include "runtime/formats/file.h"
#include "runtime/formats/stored_examples.h"

namespace dist {

struct NamedArray {
  std::string name; // empty: the file's only array
  HostArray array;
  /// Where its data are, which `array` has not then; null: in `array`. Example
  /// i is number `firstStored` + i there.
  std::shared_ptr<const StoredExamples> stored = nullptr;
  int64_t firstStored = 0;
  /// Of numbers that were written as text: their type is what holds them all,
  /// f64 or i64.
  bool isText = false;
  /// What the file calls the numbers of an example; null: it does not say.
  std::shared_ptr<const std::vector<std::string>> columns = nullptr;
};

/// What is wanted of a file: nothing else of it is unpacked.
struct ArrayDemand {
  /// Which of a file's arrays, by their names.
  std::function<std::vector<bool>(const std::vector<std::string> &names)>
      choose = [](const std::vector<std::string> &names) {
        return std::vector<bool>(names.size(), true);
      };
  /// Told what an array's header says, in forms that have one, before its
  /// elements are unpacked. An error refuses the file.
  std::function<Status(const std::string &name, DataType type,
                       const std::vector<int64_t> &shape)>
      check = [](const std::string &, DataType, const std::vector<int64_t> &) {
        return Status();
      };
  /// TFRecords are left in their file (see NamedArray::stored).
  bool leavesRecords = false;
};

/// Archives give their members, TFRecords their features. CSV gives "label" (a
/// column of that name, or the last) and "" (the others); with one column only
/// "". CIFAR gives "" and "label". `wholeTables`: a CSV gives only "", all its
/// columns.
Status readArrays(const std::string &path, std::vector<NamedArray> *out,
                  bool wholeTables = false,
                  FileAccess access = FileAccess::Read,
                  const ArrayDemand &demand = ArrayDemand());
/// The same of bytes in memory, for data that come from elsewhere.
Status parseArrays(std::string_view bytes, std::shared_ptr<const void> owner,
                   const std::string &path, std::vector<NamedArray> *out,
                   bool wholeTables = false,
                   const ArrayDemand &demand = ArrayDemand());
/// A limit for packed files of one array, whose header says its size.
UnpackLimit limitByHeader(const std::string &path,
                          const ArrayDemand &demand = ArrayDemand());

/// IDX (MNIST's form): magic, dims, big-endian elements.
bool isIdx(std::string_view bytes);
Status parseIdx(std::string_view bytes, std::shared_ptr<const void> owner,
                const std::string &where, HostArray *out);

/// A CSV of numbers, [rows, columns] in f64, or in i64 where all are integers
/// of which f64 would round one; a first line of other words than numbers names
/// the columns.
Status parseCsv(std::string_view bytes, const std::string &where,
                HostArray *out, std::vector<std::string> *columns);

/// NamedArray::columns of these names.
std::shared_ptr<const std::vector<std::string>>
shareNames(const std::vector<std::string> &columns);

/// Splits the label's column off such a table: the one named label, else
/// target, class or y, or the last; a table of one column stays as it is.
void splitLabel(const HostArray &table, const std::vector<std::string> &columns,
                std::vector<NamedArray> *out);

/// CIFAR-10's binary form: a label byte, then 3x32x32 pixels, per example.
Status parseCifar(std::string_view bytes, std::shared_ptr<const void> owner,
                  const std::string &where, HostArray *images,
                  HostArray *labels);

} // namespace dist

#endif // RUNTIME_FORMATS_ARRAYS_H
