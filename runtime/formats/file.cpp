//===- file.cpp - Reading files whole -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/file.h"
#include "runtime/formats/file_system.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <mutex>
#include <set>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace dist {

size_t availableMemory() {
  size_t available = SIZE_MAX;
  std::ifstream info("/proc/meminfo");
  std::string word;
  while (info >> word)
    if (size_t kib; word == "MemAvailable:" && info >> kib)
      available = kib << 10;
  rlimit space;
  size_t pages;
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY &&
      std::ifstream("/proc/self/statm") >> pages) {
    size_t used = pages * sysconf(_SC_PAGESIZE);
    available = std::min<size_t>(
        available, space.rlim_cur - std::min<size_t>(used, space.rlim_cur));
  }
  return available;
}

Status tooLarge(const std::string &path, size_t limit, bool byMemory) {
  std::string why = "it has more than " + std::to_string(limit) + " bytes, " +
                    (byMemory ? "half of the memory that is free"
                              : "the most that such a file can have");
  return Status::error(
      StatusCode::Unavailable, "cannot hold an unpacked file in memory", path,
      why, byMemory ? "give it unpacked, or more memory" : "give another file");
}

/// The files that are mapped now.
static std::mutex mappedMutex;
static std::set<const FileBytes *> &mappedFiles() {
  static std::set<const FileBytes *> files;
  return files;
}

FileBytes::~FileBytes() {
  if (ofFile) {
    std::lock_guard<std::mutex> lock(mappedMutex);
    mappedFiles().erase(this);
  }
  if (mapped)
    munmap(const_cast<char *>(start), length);
}

void FileBytes::release() const {
  if (ofFile)
    madvise(const_cast<char *>(start), length, MADV_DONTNEED);
}

/// A device that gives more is no file.
static constexpr size_t kDeviceLimit = size_t(1) << 26;

static Status cannotRead(const std::string &path, int error) {
  // A name that does not exist is the user's; a disk that fails is not.
  bool theirs = error == ENOENT || error == EACCES || error == ENOTDIR ||
                error == EISDIR || error == ENAMETOOLONG || error == EPERM;
  return Status::error(theirs ? StatusCode::InvalidInput
                              : StatusCode::Unavailable,
                       "cannot read file", path, std::strerror(error),
                       "check the name and its permissions");
}

/// Reads as many bytes as the file had when it was opened.
static Status readWhole(int descriptor, const std::string &path, char *to,
                        size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t got = fileSystem().readAt(
        descriptor, to + done, std::min(size - done, size_t(1) << 30), done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return cannotRead(path, errno);
    if (got == 0)
      return Status::error(StatusCode::Unavailable,
                           "file was cut short while it was read", path,
                           "it had " + std::to_string(size) +
                               " bytes, and now has " + std::to_string(done),
                           "run again when nothing writes it");
    done += got;
  }
  return Status();
}

void FileBytes::releaseAll() {
  std::lock_guard<std::mutex> lock(mappedMutex);
  for (const FileBytes *file : mappedFiles())
    file->release();
}

Status FileBytes::open(const std::string &path,
                       std::shared_ptr<const FileBytes> *out,
                       FileAccess access) {
  int descriptor = fileSystem().open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return cannotRead(path, errno);
  Status status = open(descriptor, path, out, access);
  fileSystem().close(descriptor);
  return status;
}

Status FileBytes::open(int descriptor, const std::string &path,
                       std::shared_ptr<const FileBytes> *out,
                       FileAccess access) {
  struct stat info;
  if (fileSystem().status(descriptor, &info) != 0)
    return cannotRead(path, errno);
  if (S_ISDIR(info.st_mode))
    return cannotRead(path, EISDIR);
  auto file = std::make_shared<FileBytes>();
  if (S_ISREG(info.st_mode) && info.st_size > 0) {
    file->ofFile = access == FileAccess::Map;
    // Memory from the kernel, too, where there may be too little of it: that
    // is an error to tell, and aligned for any element.
    void *address =
        file->ofFile
            ? mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0)
            : mmap(nullptr, info.st_size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) {
      file->ofFile = false;
      return cannotRead(path, errno);
    }
    file->start = static_cast<const char *>(address);
    file->length = info.st_size;
    file->mapped = true;
    if (file->ofFile) {
      std::lock_guard<std::mutex> lock(mappedMutex);
      mappedFiles().insert(file.get());
    }
    if (!file->ofFile)
      DIST_RETURN_IF_ERROR(readWhole(
          descriptor, path, static_cast<char *>(address), file->length));
  } else {
    // Pipes, devices, and what the kernel makes up (/proc), whose size is 0. A
    // device may never end.
    size_t limit = std::min(S_ISCHR(info.st_mode) ? kDeviceLimit : SIZE_MAX,
                            availableMemory() / 2);
    char block[1 << 16];
    for (;;) {
      ssize_t got = ::read(descriptor, block, sizeof block);
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return cannotRead(path, errno);
      if (got == 0)
        break;
      if (file->unpacked.size() + got > limit)
        return tooLarge(path, limit, limit != kDeviceLimit);
      file->unpacked.append(block, got);
    }
    file->start = file->unpacked.data();
    file->length = file->unpacked.size();
  }
  *out = std::move(file);
  return Status();
}

bool checkedBytes(const std::vector<int64_t> &shape, size_t elementSize,
                  size_t *bytes) {
  uint64_t total = elementSize;
  bool empty = false;
  for (int64_t dim : shape) {
    // A dim of 0 excuses no others: their product is taken elsewhere too.
    empty |= dim == 0;
    if (dim < 0 ||
        __builtin_mul_overflow(total, std::max<uint64_t>(dim, 1), &total) ||
        total > uint64_t(INT64_MAX))
      return false;
  }
  *bytes = empty ? 0 : total;
  return true;
}

uint32_t crc32Of(std::string_view bytes, uint32_t seed) {
  // zlib takes a null pointer as a request for the initial value.
  if (bytes.empty())
    return seed;
  return crc32_z(seed, reinterpret_cast<const Bytef *>(bytes.data()),
                 bytes.size());
}

} // namespace dist
