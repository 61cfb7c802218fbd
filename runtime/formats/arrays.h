//===- arrays.h - Data files of any known form -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a file as named arrays: .npy, .npz, IDX, safetensors, CSV, CIFAR-10's
// binary form; gzip of any of them. The form is told by content.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_ARRAYS_H
#define RUNTIME_FORMATS_ARRAYS_H

#include "runtime/formats/file.h"

namespace dist {

struct NamedArray {
  std::string name; // empty: the file's only array
  HostArray array;
};

/// Archives give all members. CSV gives "label" (a column of that name, or the
/// last) and "" (the others); with one column only "". CIFAR gives "" and
/// "label". `wholeTables`: a CSV gives only "", all its columns.
Status readArrays(const std::string &path, std::vector<NamedArray> *out,
                  bool wholeTables = false,
                  FileAccess access = FileAccess::Read);
/// The same of bytes in memory, for data that come from elsewhere.
Status parseArrays(std::string_view bytes, std::shared_ptr<const void> owner,
                   const std::string &path, std::vector<NamedArray> *out,
                   bool wholeTables = false);

/// IDX (MNIST's form): magic, dims, big-endian elements.
bool isIdx(std::string_view bytes);
Status parseIdx(std::string_view bytes, std::shared_ptr<const void> owner,
                const std::string &where, HostArray *out);

/// A CSV of numbers, [rows, columns] in f64; a first line that is no numbers
/// names the columns.
Status parseCsv(std::string_view bytes, const std::string &where,
                HostArray *out, std::vector<std::string> *columns);

/// CIFAR-10's binary form: a label byte, then 3x32x32 pixels, per example.
Status parseCifar(std::string_view bytes, std::shared_ptr<const void> owner,
                  const std::string &where, HostArray *images,
                  HostArray *labels);

} // namespace dist

#endif // RUNTIME_FORMATS_ARRAYS_H
