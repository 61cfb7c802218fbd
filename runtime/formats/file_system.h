//===- file_system.h - What files are on ------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All by which files are written, and by which states are kept, so that a
// simulation can be the disk: it fills up, tears what was not synced when power
// is lost, and knows who writes.
//
// Calls are the system's of their names: below 0, with errno, they have failed.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_FILE_SYSTEM_H
#define RUNTIME_FORMATS_FILE_SYSTEM_H

#include <functional>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>
#include <system_error>
#include <vector>

namespace dist {

class FileSystem {
public:
  virtual ~FileSystem() = default;

  virtual int open(const std::string &path, int flags, mode_t mode = 0) = 0;
  /// A new file of a name that ends in XXXXXX, which it replaces; with the
  /// rights of a file that a user makes.
  virtual int openTemporary(std::string *path) = 0;
  virtual ssize_t write(int file, const void *data, size_t size) = 0;
  virtual ssize_t readAt(int file, void *to, size_t size, off_t at) = 0;
  virtual int sync(int file) = 0;
  virtual int close(int file) = 0;
  virtual int status(int file, struct stat *out) = 0;
  virtual int status(const std::string &path, struct stat *out,
                     bool followsLinks = true) = 0;
  /// For this process alone, until the file is closed; does not wait.
  virtual int lock(int file) = 0;

  /// `flags` as renameat2 has them.
  virtual int rename(const std::string &from, const std::string &to,
                     unsigned flags = 0) = 0;
  virtual int remove(const std::string &path) = 0;
  /// With all in it; nothing there is fine.
  virtual void removeAll(const std::string &path) = 0;
  virtual std::error_code makeFolders(const std::string &path) = 0;
  /// Names in a folder; none where there is none.
  virtual std::vector<std::string> list(const std::string &folder) = 0;

  /// The number that names this process to the others.
  virtual int64_t process() = 0;
  /// The name of its machine; empty: unknown.
  virtual std::string host() = 0;
  /// Bytes that no other has drawn.
  virtual std::string drawBytes(size_t count) = 0;

  /// Work that is done while its process goes on. Destroyed, it waits for the
  /// work's end.
  class Beside {
  public:
    virtual ~Beside() = default;
  };
  /// Throws std::system_error where there is no thread for it.
  virtual std::unique_ptr<Beside> runBeside(std::function<void()> work) = 0;
};

/// The rights that this process takes off what it makes.
mode_t currentUmask();

/// The system's, unless a test has set another.
FileSystem &fileSystem();
/// Null: the system's. While nothing is open.
void setFileSystem(FileSystem *other);

} // namespace dist

#endif // RUNTIME_FORMATS_FILE_SYSTEM_H
