//===- passing_files.h - Files, passed on ---------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_PASSING_FILES_H
#define TEST_RUNTIME_PASSING_FILES_H

#include "runtime/formats/file_system.h"

namespace dist::test {

/// Stands in for the system's files for as long as it lives, and passes each
/// call on: a test overrides those that it is about.
class PassingFiles : public FileSystem {
public:
  PassingFiles() : system(fileSystem()) { setFileSystem(this); }
  ~PassingFiles() override { setFileSystem(nullptr); }

  int open(const std::string &path, int flags, mode_t mode) override {
    return system.open(path, flags, mode);
  }
  int openTemporary(std::string *path) override {
    return system.openTemporary(path);
  }
  ssize_t write(int file, const void *data, size_t size) override {
    return system.write(file, data, size);
  }
  ssize_t readAt(int file, void *to, size_t size, off_t at) override {
    return system.readAt(file, to, size, at);
  }
  int sync(int file) override { return system.sync(file); }
  int close(int file) override { return system.close(file); }
  int status(int file, struct stat *out) override {
    return system.status(file, out);
  }
  int status(const std::string &path, struct stat *out, bool follows) override {
    return system.status(path, out, follows);
  }
  int lock(int file) override { return system.lock(file); }
  int rename(const std::string &from, const std::string &to,
             unsigned flags) override {
    return system.rename(from, to, flags);
  }
  int remove(const std::string &path) override { return system.remove(path); }
  void removeAll(const std::string &path) override { system.removeAll(path); }
  std::error_code makeFolders(const std::string &path) override {
    return system.makeFolders(path);
  }
  std::vector<std::string> list(const std::string &folder) override {
    return system.list(folder);
  }
  int64_t process() override { return system.process(); }
  std::string host() override { return system.host(); }
  std::string drawBytes(size_t count) override {
    return system.drawBytes(count);
  }
  std::unique_ptr<Beside> runBeside(std::function<void()> work) override {
    return system.runBeside(std::move(work));
  }

private:
  FileSystem &system;
};

} // namespace dist::test

#endif // TEST_RUNTIME_PASSING_FILES_H
