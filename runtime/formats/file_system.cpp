//===- file_system.cpp - The system's files -------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/file_system.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/random.h>
#include <thread>
#include <unistd.h>

namespace dist {

// umask() only tells by changing it, under the feet of other threads.
mode_t currentUmask() {
  mode_t mask = 022;
  if (FILE *status = std::fopen("/proc/self/status", "re")) {
    char line[256];
    unsigned value;
    while (std::fgets(line, sizeof line, status))
      if (std::sscanf(line, "Umask: %o", &value) == 1)
        mask = value & 0777;
    std::fclose(status);
  }
  return mask;
}

namespace {

class Thread final : public FileSystem::Beside {
public:
  explicit Thread(std::function<void()> work) : thread(std::move(work)) {}
  ~Thread() override { thread.join(); }

private:
  std::thread thread;
};

class SystemFiles final : public FileSystem {
public:
  int open(const std::string &path, int flags, mode_t mode) override {
    return ::open(path.c_str(), flags, mode);
  }
  int openTemporary(std::string *path) override {
    int file = mkostemp(path->data(), O_CLOEXEC);
    // That leaves it to its owner.
    if (file >= 0 && fchmod(file, 0666 & ~currentUmask()) != 0) {
      const int error = errno;
      ::close(file);
      ::unlink(path->c_str());
      errno = error;
      return -1;
    }
    return file;
  }
  ssize_t write(int file, const void *data, size_t size) override {
    return ::write(file, data, size);
  }
  ssize_t readAt(int file, void *to, size_t size, off_t at) override {
    return ::pread(file, to, size, at);
  }
  int sync(int file) override { return fsync(file); }
  int close(int file) override { return ::close(file); }
  int status(int file, struct stat *out) override { return fstat(file, out); }
  int status(const std::string &path, struct stat *out,
             bool followsLinks) override {
    return followsLinks ? stat(path.c_str(), out) : lstat(path.c_str(), out);
  }
  int lock(int file) override { return flock(file, LOCK_EX | LOCK_NB); }
  int rename(const std::string &from, const std::string &to,
             unsigned flags) override {
    return flags == 0
               ? ::rename(from.c_str(), to.c_str())
               : renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags);
  }
  int remove(const std::string &path) override {
    return ::unlink(path.c_str());
  }
  void removeAll(const std::string &path) override {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::error_code makeFolders(const std::string &path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    return error;
  }
  std::vector<std::string> list(const std::string &folder) override {
    std::vector<std::string> names;
    if (DIR *handle = opendir(folder.c_str())) {
      while (dirent *item = readdir(handle))
        names.push_back(item->d_name);
      closedir(handle);
    }
    return names;
  }
  int64_t process() override { return getpid(); }
  std::string host() override {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
  }
  std::string drawBytes(size_t count) override {
    std::string bytes(count, '\0');
    if (getrandom(bytes.data(), count, 0) != ssize_t(count))
      bytes.assign(count, '\0');
    return bytes;
  }
  std::unique_ptr<Beside> runBeside(std::function<void()> work) override {
    return std::make_unique<Thread>(std::move(work));
  }
};

} // namespace

static FileSystem *&replacement() {
  static FileSystem *other = nullptr;
  return other;
}

FileSystem &fileSystem() {
  static SystemFiles system;
  return replacement() ? *replacement() : system;
}

void setFileSystem(FileSystem *other) { replacement() = other; }

} // namespace dist
