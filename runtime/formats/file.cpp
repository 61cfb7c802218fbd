//===- file.cpp - Reading files whole, writing them atomically -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/file.h"
#include "runtime/core/text.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
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

static Status tooLarge(const std::string &path, size_t limit, bool byMemory) {
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

/// What is unpacked at a time.
static constexpr size_t kBlock = size_t(1) << 18;
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
    ssize_t got = ::pread(descriptor, to + done,
                          std::min(size - done, size_t(1) << 30), done);
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
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return cannotRead(path, errno);
  Status status = open(descriptor, path, out, access);
  ::close(descriptor);
  return status;
}

Status FileBytes::open(int descriptor, const std::string &path,
                       std::shared_ptr<const FileBytes> *out,
                       FileAccess access) {
  struct stat info;
  if (fstat(descriptor, &info) != 0)
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

bool isGzip(std::string_view bytes) {
  // Two bytes of magic, the only method there is, and no reserved flags.
  return bytes.size() >= 18 && bytes.substr(0, 3) == "\x1f\x8b\x08" &&
         (bytes[3] & 0xe0) == 0;
}

Status FileBytes::openUnpacked(const std::string &path,
                               std::shared_ptr<const FileBytes> *out,
                               FileAccess access, size_t limit) {
  std::shared_ptr<const FileBytes> file;
  DIST_RETURN_IF_ERROR(open(path, &file, access));
  bool promised = endsWith(path, ".gz");
  // The length of a safetensors header comes first, and may be any number.
  bool other = endsWith(path, ".safetensors");
  if (promised && !isGzip(file->bytes()))
    return Status::error(StatusCode::InvalidInput, "damaged compressed data",
                         path,
                         "its name ends in .gz, but no gzip stream is in "
                         "it",
                         "fetch it again, or give it its right name");
  if (promised || (!other && isGzip(file->bytes()))) {
    auto plain = std::make_shared<FileBytes>();
    size_t memory = availableMemory() / 2;
    bool byMemory = memory < limit;
    limit = std::min(limit, memory);
    Status status =
        inflateBytes(file->bytes(), false, limit, path, &plain->unpacked);
    // One byte more than the limit is never kept.
    if (!status.ok() && plain->unpacked.size() + kBlock > limit)
      return tooLarge(path, limit, byMemory);
    DIST_RETURN_IF_ERROR(status);
    plain->start = plain->unpacked.data();
    plain->length = plain->unpacked.size();
    file = std::move(plain);
  }
  *out = std::move(file);
  return Status();
}

Status inflateBytes(std::string_view packed, bool raw, size_t limit,
                    const std::string &where, std::string *out) {
  auto damaged = [&](const char *why) {
    return Status::error(StatusCode::InvalidInput, "damaged compressed data",
                         where, why, "fetch or write the file again");
  };
  z_stream stream{};
  // 32 added to the window's bits: gzip or zlib, told by the header.
  if (inflateInit2(&stream, raw ? -MAX_WBITS : MAX_WBITS + 32) != Z_OK)
    return Status::error(StatusCode::Unavailable, "cannot unpack", where,
                         "zlib has no memory", "free some memory");
  out->clear();
  size_t used = 0;
  std::string block(kBlock, '\0');
  const char *failure = nullptr;
  for (;;) {
    if (stream.avail_in == 0 && used < packed.size()) {
      size_t part = std::min<size_t>(packed.size() - used, 1 << 30);
      stream.next_in =
          reinterpret_cast<Bytef *>(const_cast<char *>(packed.data() + used));
      stream.avail_in = static_cast<uInt>(part);
      used += part;
    }
    stream.next_out = reinterpret_cast<Bytef *>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    int code = inflate(&stream, Z_NO_FLUSH);
    size_t got = block.size() - stream.avail_out;
    if (out->size() + got > limit) {
      failure = "it unpacks to more than is allowed";
      break;
    }
    out->append(block.data(), got);
    if (code == Z_STREAM_END) {
      // A gzip file may hold several members, one after another.
      if (raw || (stream.avail_in == 0 && used == packed.size()))
        break;
      if (inflateReset(&stream) != Z_OK) {
        failure = "zlib failed";
        break;
      }
      continue;
    }
    if (code != Z_OK) {
      failure =
          code == Z_BUF_ERROR ? "it ends too early" : "it is no valid stream";
      break;
    }
  }
  inflateEnd(&stream);
  return failure ? damaged(failure) : Status();
}

/// The rights that this process takes off what it makes. umask() only tells by
/// changing it, under the feet of other threads.
static mode_t currentUmask() {
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

FileSink::~FileSink() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!beside.empty())
    ::unlink(beside.c_str());
}

Status FileSink::failed(const char *what) {
  int error = errno;
  return Status::error(StatusCode::Unavailable, what, path,
                       std::strerror(error),
                       "check the folder, its permissions and free space");
}

Status FileSink::open(const std::string &target) {
  path = target;
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) {
      errno = EISDIR;
      return failed("cannot write file");
    }
    descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    return descriptor < 0 ? failed("cannot write file") : Status();
  }
  beside = path + ".part-XXXXXX";
  descriptor = mkostemp(beside.data(), O_CLOEXEC);
  if (descriptor < 0) {
    beside.clear();
    return failed("cannot write file");
  }
  // mkostemp leaves it to its owner; the name it gets is as any other file's.
  if (fchmod(descriptor, 0666 & ~currentUmask()) != 0)
    return failed("cannot write file");
  return Status();
}

Status FileSink::write(const void *data, size_t size) {
  const char *next = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t put = ::write(descriptor, next, std::min(size, size_t(1) << 30));
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0 && errno == EFAULT)
      return Status::error(StatusCode::Unavailable, "cannot write file", path,
                           "the file that the data are from was cut short",
                           "run again when nothing writes it");
    if (put < 0)
      return failed("cannot write file");
    next += put;
    size -= put;
  }
  return Status();
}

Status FileSink::commit(bool durable) {
  if (durable && !beside.empty() && fsync(descriptor) != 0)
    return failed("cannot write file");
  int open = descriptor;
  descriptor = -1;
  if (::close(open) != 0)
    return failed("cannot write file");
  if (!beside.empty()) {
    if (::rename(beside.c_str(), path.c_str()) != 0)
      return failed("cannot rename file into place");
    beside.clear();
    if (durable)
      return flushToDisk(parentFolder(path));
  }
  return Status();
}

Status writeFile(const std::string &path, std::string_view text, bool durable) {
  FileSink sink;
  DIST_RETURN_IF_ERROR(sink.open(path));
  DIST_RETURN_IF_ERROR(sink.write(text));
  return sink.commit(durable);
}

std::string parentFolder(const std::string &path) {
  size_t end = path.find_last_not_of('/');
  size_t slash = end == std::string::npos ? 0 : path.rfind('/', end);
  if (end == std::string::npos || slash == 0)
    return path.empty() ? "." : "/";
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

Status flushToDisk(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  bool done = descriptor >= 0 && fsync(descriptor) == 0;
  int error = errno;
  if (descriptor >= 0)
    ::close(descriptor);
  // File systems that cannot do this say EINVAL: nothing more can be asked.
  if (done || error == EINVAL)
    return Status();
  return Status::error(StatusCode::Unavailable, "cannot write to the disk",
                       path, std::strerror(error),
                       "check the disk and its free space");
}

Status makeFolderBeside(const std::string &path, std::string *out) {
  *out = path;
  while (out->size() > 1 && out->back() == '/')
    out->pop_back();
  *out += ".part-XXXXXX";
  if (!mkdtemp(out->data()) || chmod(out->c_str(), 0777 & ~currentUmask()) != 0)
    return Status::error(StatusCode::Unavailable, "cannot make folder", *out,
                         std::strerror(errno),
                         "check the path, its permissions and free space");
  return Status();
}

Status makeFolders(const std::string &path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    return Status::error(StatusCode::Unavailable, "cannot make folder", path,
                         error.message(),
                         "check the path, its permissions and free space");
  return Status();
}

void removeAll(const std::string &path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
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
