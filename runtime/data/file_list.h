//===- file_list.h - Data in several files ------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DATA_FILE_LIST_H
#define RUNTIME_DATA_FILE_LIST_H

#include "runtime/formats/arrays.h"

namespace dist {

/// The error of data that cannot be read as they were asked for.
Status wrongSpec(const std::string &spec, const std::string &why);

/// 'a', 'b', ..., as many as a line has room for.
std::string listNames(const std::vector<std::string> &names);

/// The files that a name means: itself; those that match it, sorted by name,
/// where it has *, ? or [...] in it and is no file's own; of @LIST those that
/// the lines of the file LIST name, relative to its folder, in their order.
Status listFiles(const std::string &name, std::vector<std::string> *out);

/// Leaves out files without a byte, which writers of TFRecords in parts make of
/// parts that got no examples. Errors: such a one among files of another form,
/// where something is missing. All of them are left to who reads them.
Status leaveOutEmpty(std::vector<std::string> *files);

/// The examples of several files, one file's after another's. Memory is that
/// of all, and of the file that is added; what is stored stays where it is.
class JoinedArrays {
public:
  /// The arrays of a further file, whose names, types and shapes of an example
  /// must be those of the first, and the columns' order, too.
  Status append(std::vector<NamedArray> more, const std::string &file);
  std::vector<NamedArray> take();

private:
  std::vector<NamedArray> arrays;
  /// Behind each array, once there are several files.
  std::vector<std::shared_ptr<std::string>> memory;
  /// Instead of it, where some of the files' examples are stored.
  std::vector<std::shared_ptr<class JoinedExamples>> joined;
};

} // namespace dist

#endif // RUNTIME_DATA_FILE_LIST_H
