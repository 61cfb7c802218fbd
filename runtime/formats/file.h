//===- file.h - Reading files whole, writing them atomically -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every reader and writer of runtime/ goes through: a file's bytes, as
// they are or unpacked, and a sink that shows a file under its name only when
// complete.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_FILE_H
#define RUNTIME_FORMATS_FILE_H

#include "runtime/core/status.h"
#include "runtime/core/types.h"
#include <cstdint>
#include <functional>
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

/// How a regular file's bytes are had. Mapped ones are not copied; but where
/// someone cuts the file short while they are in use, the next access kills the
/// process (SIGBUS). So the library reads, and maps only what it is told to,
/// by who guards against that, as the tools do (tools/options/truncation.h).
enum class FileAccess { Read, Map };

/// How large a packed file may become in memory: some have a thousandth of the
/// bytes that they unpack to. Half of the memory that is free is the most.
struct UnpackLimit {
  /// The most that a file of its kind has.
  size_t bytes = SIZE_MAX;
  /// Told the first bytes, as many as any header has: how many there are by the
  /// file's own header; SIZE_MAX where none says it. An error refuses the file
  /// before the rest of it is unpacked.
  std::function<Status(std::string_view start, size_t *bytes)> header;
};

/// A file's bytes, read-only.
class FileBytes {
public:
  /// The bytes as they stand in the file.
  static Status open(const std::string &path,
                     std::shared_ptr<const FileBytes> *out,
                     FileAccess access = FileAccess::Read);
  /// The same of an open file, which stays open; `path` names it in errors.
  static Status open(int descriptor, const std::string &path,
                     std::shared_ptr<const FileBytes> *out,
                     FileAccess access = FileAccess::Read);
  /// What is packed with gzip is unpacked into memory. A name in .gz promises
  /// it; other names leave it to the content, but for forms whose own start
  /// may look like it.
  static Status openUnpacked(const std::string &path,
                             std::shared_ptr<const FileBytes> *out,
                             FileAccess access = FileAccess::Read,
                             const UnpackLimit &limit = UnpackLimit());
  FileBytes() = default;
  ~FileBytes();
  FileBytes(const FileBytes &) = delete;
  FileBytes &operator=(const FileBytes &) = delete;
  std::string_view bytes() const { return {start, length}; }
  /// Of a mapped file: lets go of the pages that were read so far, which come
  /// back from the file when they are needed.
  void release() const;
  /// The same of all mapped files: for who goes through gigabytes once.
  static void releaseAll();

private:
  const char *start = nullptr;
  size_t length = 0;
  /// Whether `start` is a mapping, of the file or of anonymous memory.
  bool mapped = false, ofFile = false;
  std::string unpacked;
};

/// Whether a gzip stream starts here, by its header (RFC 1952).
bool isGzip(std::string_view bytes);

/// Bytes that this process can still get: of the machine's memory, within its
/// limit of address space.
size_t availableMemory();
/// A model in one piece is a protobuf message, which has at most 2 GiB.
constexpr size_t largestModelBytes = INT32_MAX;

/// The error of a file that has more bytes than may be kept in memory;
/// `byMemory`: than half of what is free, or else than such files have.
Status tooLarge(const std::string &path, size_t limit, bool byMemory);

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
  /// `durable`: also through the disk's cache, for what a crash of the machine
  /// must not take back: checkpoints and trained models.
  Status commit(bool durable = false);

private:
  Status failed(const char *what);
  int descriptor = -1;
  std::string path, beside;
};

/// A whole file in one call of the above.
Status writeFile(const std::string &path, std::string_view text,
                 bool durable = false);

/// Sends a file's content, or a folder's names, through the disk's cache.
Status flushToDisk(const std::string &path);
/// The folder that a path's last name stands in.
std::string parentFolder(const std::string &path);
/// An empty folder beside `path`, its name followed by what no other has; with
/// the rights of a folder that a user makes.
Status makeFolderBeside(const std::string &path, std::string *out);

/// Whether there is something of that name, through links.
bool pathExists(const std::string &path);
/// Creates a folder and those above it, as far as they are missing. `durable`:
/// through the disk's cache.
Status makeFolders(const std::string &path, bool durable = false);
/// Removes a folder with all in it, or a file; nothing there is fine.
void removeAll(const std::string &path);

/// Gives the folder `from` the name `to`; what had that name, if anything, is
/// at `from` afterwards. In one step where the file system can exchange names.
/// After an error what had the name has it.
Status replaceFolder(const std::string &from, const std::string &to);

/// Gives the folder `from` the name `to` and sets `taken`; or leaves it where
/// it is, where what has that name already is good by `isGood`. What is not
/// goes to `aside`, a free name of the same file system. Of several processes
/// that offer one the first is taken, and nobody finds a part of one. Where
/// what was there is good, or nothing was, nobody loses what it has found
/// either.
Status offerFolder(const std::string &from, const std::string &to,
                   const std::function<bool()> &isGood,
                   const std::string &aside, bool *taken);

/// Bytes of a shape; false on overflow of 63 bits.
bool checkedBytes(const std::vector<int64_t> &shape, size_t elementSize,
                  size_t *bytes);

/// CRC-32 (zlib's) of a block, continuing from `seed`.
uint32_t crc32Of(std::string_view bytes, uint32_t seed = 0);

} // namespace dist

#endif // RUNTIME_FORMATS_FILE_H
