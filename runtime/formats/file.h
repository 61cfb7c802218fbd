//===- file.h - Reading files whole, writing them atomically -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every reader and writer of runtime/ goes through: a file's bytes, mapped
// or unpacked, and a sink that shows a file under its name only when complete.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_FILE_H
#define RUNTIME_FORMATS_FILE_H

#include "runtime/core/status.h"
#include "runtime/core/types.h"
#include <memory>
#include <string>
#include <string_view>

namespace dist {

/// A tensor of a file, kept alive by `owner` (a mapping or a buffer).
struct HostArray {
  DataType type = manifest::DATA_TYPE_UNKNOWN;
  std::vector<int64_t> shape;
  const char *data = nullptr;
  std::shared_ptr<const void> owner;
  TensorView view() const { return {type, shape, data}; }
};

/// A file's bytes. Regular files are mapped read-only; gzip streams (told by
/// content) are unpacked into memory.
class FileBytes {
public:
  static Status open(const std::string &path,
                     std::shared_ptr<const FileBytes> *out);
  FileBytes() = default;
  ~FileBytes();
  FileBytes(const FileBytes &) = delete;
  FileBytes &operator=(const FileBytes &) = delete;
  std::string_view bytes() const { return {start, length}; }

private:
  const char *start = nullptr;
  size_t length = 0;
  bool mapped = false;
  std::string unpacked;
};

/// Inflates a gzip (or zlib) stream of at most `limit` bytes; `raw` is a
/// deflate stream with no header, as in zip files.
Status inflateBytes(std::string_view packed, bool raw, size_t limit,
                    const std::string &where, std::string *out);

/// Writes beside the target and renames on `commit`, so that the target is
/// either as it was or complete. A target that exists and is no regular file
/// (a pipe, /dev/null) is written through. Destroyed uncommitted: no trace.
class FileSink {
public:
  FileSink() = default;
  ~FileSink();
  FileSink(const FileSink &) = delete;
  FileSink &operator=(const FileSink &) = delete;
  Status open(const std::string &path);
  Status write(const void *data, size_t size);
  Status write(std::string_view text) {
    return write(text.data(), text.size());
  }
  /// `durable`: also through the disk's cache, for checkpoints.
  Status commit(bool durable = false);

private:
  Status failed(const char *what);
  int descriptor = -1;
  std::string path, beside;
};

/// A whole file in one call of the above.
Status writeFile(const std::string &path, std::string_view text,
                 bool durable = false);

/// Creates a folder and those above it, as far as they are missing.
Status makeFolders(const std::string &path);
/// Removes a folder with all in it, or a file; nothing there is fine.
void removeAll(const std::string &path);

/// Bytes of a shape; false on overflow of 63 bits.
bool checkedBytes(const std::vector<int64_t> &shape, size_t elementSize,
                  size_t *bytes);

/// CRC-32 (zlib's) of a block, continuing from `seed`.
uint32_t crc32Of(std::string_view bytes, uint32_t seed = 0);

} // namespace dist

#endif // RUNTIME_FORMATS_FILE_H
