//===- source.h - Which file feeds which argument -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DATA_SOURCE_H
#define RUNTIME_DATA_SOURCE_H

#include "runtime/formats/arrays.h"

namespace dist {

/// What data are read for: the rest of their files is not unpacked, and what
/// does not fit is refused before it is.
struct DataDemand {
  /// Which of a file's arrays, by their names.
  std::function<std::vector<bool>(const std::vector<std::string> &names)>
      choose = ArrayDemand().choose;
  /// An error for an array of this name whose header says what does not fit.
  std::function<Status(const std::string &name, DataType type,
                       const std::vector<int64_t> &shape)>
      check = ArrayDemand().check;
  /// TFRecords stay in their files.
  bool leavesRecords = false;
  /// Of several files those of this worker (see filesOfWorker).
  int worker = 0, workers = 1;
};

/// The files of `spec`, in order: of pairs those of the first, of a folder
/// CIFAR-10's for training. Where they are
/// to be shared out among workers, errors: pairs of another number of files,
/// and ranges, which are of all files together.
Status listDataFiles(const std::string &spec, std::vector<std::string> *out);
Status checkSharedFiles(const std::string &spec);

/// Reads `spec` as named arrays: pairs keep their names, a folder or a CSV or
/// CIFAR-10 file gives "x" and "y", an archive its members' names. Each array
/// has a dim 0; ranges FILE[a:b] are cut. FILE may be several (file_list.h),
/// and FILE#ARRAY in a pair names one of its arrays. `testPart`: of folders
/// with two.
Status readDataSpec(const std::string &spec, bool testPart,
                    std::vector<NamedArray> *out,
                    FileAccess access = FileAccess::Read,
                    const DataDemand &demand = DataDemand());

} // namespace dist

#endif // RUNTIME_DATA_SOURCE_H
