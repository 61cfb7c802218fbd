//===- tensor_bundle.h - TensorFlow's checkpoints ---------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Named tensors in PREFIX.index, a table of where each is, and files
// PREFIX.data-00000-of-00001, their bytes. A SavedModel keeps its variables so,
// and tf.train.Checkpoint and tf.compat.v1.train.Saver all of theirs.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_TENSOR_BUNDLE_H
#define RUNTIME_FORMATS_TENSOR_BUNDLE_H

#include "runtime/formats/file.h"
#include <map>

namespace dist {

class ExternalFiles;

/// The element type of a number of TensorFlow's DataType (types.proto);
/// DATA_TYPE_UNKNOWN for those there is no support for, whose name
/// `tensorFlowTypeName` gives.
DataType fromTensorFlowType(int32_t type);
std::string tensorFlowTypeName(int32_t type);

class TensorBundle {
public:
  /// Where a tensor is, and of what it is.
  struct Entry {
    /// TensorFlow's number: strings and others that cannot be read have one.
    int32_t type = 0;
    std::vector<int64_t> shape;
    int32_t file = 0;
    uint64_t offset = 0, size = 0;
    uint32_t crc = 0;
    /// Of a partitioned variable: in how many parts it was saved.
    int parts = 0;
  };

  /// Reads PREFIX.index, a name relative to the folder that `files` has.
  static Status open(ExternalFiles &files, const std::string &prefix,
                     std::unique_ptr<TensorBundle> *out);
  /// Of the index's bytes; `where` names it in errors.
  static Status parse(std::string_view bytes, const std::string &where,
                      std::unique_ptr<TensorBundle> *out);

  const std::map<std::string, Entry> &tensors() const { return table; }
  /// A tensor's elements, which stay in the file's bytes; they are compared
  /// with their checksum. `files` as at `open`.
  Status read(ExternalFiles &files, const std::string &name,
              HostArray *out) const;

private:
  std::map<std::string, Entry> table;
  std::string prefix;
  int32_t shards = 0;
};

} // namespace dist

#endif // RUNTIME_FORMATS_TENSOR_BUNDLE_H
