//===- file.cpp - Reading files whole, writing them atomically -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/file.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace dist {

// The largest thing a compressed stream may unpack to: far above any data set
// that is held in memory, far below what would take the machine down unasked.
static constexpr size_t kUnpackLimit = size_t(1) << 36;

FileBytes::~FileBytes() {
  if (mapped)
    munmap(const_cast<char *>(start), length);
}

static Status cannotRead(const std::string &path, int error) {
  // A name that does not exist is the user's; a disk that fails is not.
  bool theirs = error == ENOENT || error == EACCES || error == ENOTDIR ||
                error == EISDIR || error == ENAMETOOLONG || error == EPERM;
  return Status::error(theirs ? StatusCode::InvalidInput
                              : StatusCode::Unavailable,
                       "cannot read file", path, std::strerror(error),
                       "check the name and its permissions");
}

Status FileBytes::open(const std::string &path,
                       std::shared_ptr<const FileBytes> *out) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return cannotRead(path, errno);
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};
  struct stat info;
  if (fstat(descriptor, &info) != 0)
    return cannotRead(path, errno);
  if (S_ISDIR(info.st_mode))
    return cannotRead(path, EISDIR);
  auto file = std::make_shared<FileBytes>();
  if (S_ISREG(info.st_mode) && info.st_size > 0) {
    void *address =
        mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED)
      return cannotRead(path, errno);
    file->start = static_cast<const char *>(address);
    file->length = info.st_size;
    file->mapped = true;
  } else if (!S_ISREG(info.st_mode)) {
    char block[1 << 16];
    for (;;) {
      ssize_t got = ::read(descriptor, block, sizeof block);
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return cannotRead(path, errno);
      if (got == 0)
        break;
      file->unpacked.append(block, got);
      if (file->unpacked.size() > kUnpackLimit)
        return Status::error(StatusCode::InvalidInput, "file has no end", path,
                             "more than 64 GiB were read", "give another file");
    }
    file->start = file->unpacked.data();
    file->length = file->unpacked.size();
  }
  std::string_view bytes = file->bytes();
  if (bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b') {
    auto plain = std::make_shared<FileBytes>();
    DIST_RETURN_IF_ERROR(
        inflateBytes(bytes, false, kUnpackLimit, path, &plain->unpacked));
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
  std::string block(size_t(1) << 18, '\0');
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
  beside = path + ".part" + std::to_string(getpid());
  descriptor =
      ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    beside.clear();
    return failed("cannot write file");
  }
  return Status();
}

Status FileSink::write(const void *data, size_t size) {
  const char *next = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t put = ::write(descriptor, next, std::min(size, size_t(1) << 30));
    if (put < 0 && errno == EINTR)
      continue;
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
  }
  return Status();
}

Status writeFile(const std::string &path, std::string_view text, bool durable) {
  FileSink sink;
  DIST_RETURN_IF_ERROR(sink.open(path));
  DIST_RETURN_IF_ERROR(sink.write(text));
  return sink.commit(durable);
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
