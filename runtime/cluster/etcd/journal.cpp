//===- journal.cpp - A file of records --------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/etcd/journal.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace dist::cluster {

/// Begins each file; the digit is the form's.
static constexpr char kMagic[] = "DISTJNL1";
static constexpr size_t kMagicBytes = sizeof kMagic - 1;
/// Length and checksum, little-endian, before each record.
static constexpr size_t kHeadBytes = 8;
/// More than any request makes.
static constexpr uint32_t kLargestRecord = 1 << 26;

static uint32_t readWord(const char *bytes) {
  uint32_t word = 0;
  for (int i = 3; i >= 0; --i)
    word = word << 8 | static_cast<unsigned char>(bytes[i]);
  return word;
}

static void addWord(std::string &bytes, uint32_t word) {
  for (int i = 0; i < 4; ++i)
    bytes += char(word >> (8 * i) & 0xff);
}

/// Of the length, too: a flipped bit there must not read as another record.
static uint32_t checksumOf(const char *length, const char *data, size_t size) {
  uLong sum = crc32(0, reinterpret_cast<const Bytef *>(length), 4);
  return uint32_t(
      crc32(sum, reinterpret_cast<const Bytef *>(data), uInt(size)));
}

static Status failed(const char *what, const std::string &path) {
  return Status::error(StatusCode::Unavailable,
                       std::string("cannot ") + what + " the journal", path,
                       std::strerror(errno),
                       "check the folder, its rights and its free space");
}

namespace {

class SystemFile final : public JournalFile {
public:
  SystemFile(const std::string &path, int descriptor)
      : path(path), descriptor(descriptor) {}
  ~SystemFile() override { close(descriptor); }

  Status read(std::string *bytes) override;
  bool write(const std::string &bytes, uint64_t at) override;
  bool truncate(uint64_t size) override {
    return ftruncate(descriptor, off_t(size)) == 0;
  }
  bool sync() override { return fdatasync(descriptor) == 0; }
  bool syncName() override;

private:
  const std::string path;
  const int descriptor;
};

} // namespace

bool SystemFile::write(const std::string &bytes, uint64_t at) {
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count = pwrite(descriptor, bytes.data() + done, bytes.size() - done,
                           off_t(at + done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    done += size_t(count);
  }
  return true;
}

Status SystemFile::read(std::string *bytes) {
  struct stat info;
  if (fstat(descriptor, &info) != 0)
    return failed("read", path);
  if (!S_ISREG(info.st_mode))
    return Status::error(StatusCode::InvalidInput, "cannot read the journal",
                         path, "it is no regular file", "give another path");
  bytes->resize(size_t(info.st_size));
  for (size_t done = 0; done < bytes->size();) {
    ssize_t count = pread(descriptor, bytes->data() + done,
                          bytes->size() - done, off_t(done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failed("read", path);
    if (count == 0) {
      bytes->resize(done);
      break;
    }
    done += size_t(count);
  }
  return Status();
}

bool SystemFile::syncName() {
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "."
                       : slash == 0               ? "/"
                                                  : path.substr(0, slash);
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool isDone = descriptor >= 0 && fsync(descriptor) == 0;
  if (descriptor >= 0)
    close(descriptor);
  return isDone;
}

/// Whether a whole record begins there.
static bool isRecord(const char *head, size_t left) {
  if (left <= kHeadBytes)
    return false;
  const uint32_t size = readWord(head);
  return size > 0 && size <= kLargestRecord && size <= left - kHeadBytes &&
         checksumOf(head, head + kHeadBytes, size) == readWord(head + 4);
}

/// Whether one begins anywhere there: what is before it was kept, too.
static bool hasRecord(const char *begin, const char *end) {
  for (; begin < end; ++begin)
    if (isRecord(begin, size_t(end - begin)))
      return true;
  return false;
}

/// Where the whole records end, each of which is handed on.
static Status readRecords(const std::string &bytes, const std::string &path,
                          const Journal::Reader &reader, size_t *end) {
  size_t at = kMagicBytes;
  auto damaged = [&](const std::string &why) {
    return Status::error(StatusCode::InvalidInput, "the journal is damaged",
                         path + ", byte " + std::to_string(at), why,
                         "restore it from a copy, or remove it to begin anew");
  };
  while (at < bytes.size()) {
    const char *head = bytes.data() + at, *all = bytes.data() + bytes.size();
    JournalRecord record;
    bool isSound =
        isRecord(head, size_t(all - head)) &&
        record.ParseFromArray(head + kHeadBytes, int(readWord(head)));
    // A crash leaves of the last one what parts came to the disk, in any order,
    // and zeros where the file has grown and they did not.
    if (!isSound && !hasRecord(head + 1, all))
      break;
    if (!isSound)
      return damaged("the checksum is another one");
    if (Status status = reader(record); !status.ok())
      return damaged(status.message());
    at += kHeadBytes + readWord(head);
  }
  *end = at;
  return Status();
}

Status Journal::open(const std::string &path, JournalSync sync,
                     const Reader &reader, std::unique_ptr<Journal> *journal,
                     uint64_t *cutBytes) {
  *cutBytes = 0;
  int descriptor =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
  if (descriptor < 0)
    return failed("open", path);
  auto file = std::make_unique<SystemFile>(path, descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0)
    return Status::error(StatusCode::Unavailable, "the journal is in use", path,
                         "another process serves it",
                         "end that one, or give another path");
  return open(std::move(file), path, sync, reader, journal, cutBytes);
}

Status Journal::open(std::unique_ptr<JournalFile> file, const std::string &path,
                     JournalSync sync, const Reader &reader,
                     std::unique_ptr<Journal> *journal, uint64_t *cutBytes) {
  *cutBytes = 0;
  std::string bytes;
  DIST_RETURN_IF_ERROR(file->read(&bytes));
  size_t begun = std::min(bytes.size(), kMagicBytes);
  if (bytes.compare(0, begun, kMagic, begun) != 0)
    return Status::error(StatusCode::InvalidInput, "this is no journal", path,
                         "it begins otherwise", "give another path");
  size_t end = kMagicBytes;
  if (begun < kMagicBytes) {
    // New, or left by a crash right after its creation.
    if (!file->write(kMagic, 0) || !file->syncName())
      return failed("begin", path);
  } else {
    DIST_RETURN_IF_ERROR(readRecords(bytes, path, reader, &end));
  }
  if (bytes.size() > end) {
    *cutBytes = bytes.size() - end;
    if (!file->truncate(end))
      return failed("mend", path);
  }
  if (!file->sync())
    return failed("keep", path);
  journal->reset(new Journal(path, std::move(file), sync));
  (*journal)->size = end;
  return Status();
}

Status Journal::append(const JournalRecord &record) {
  if (isBroken)
    return Status::error(StatusCode::Unavailable, "cannot write the journal",
                         path, "an earlier write failed and was not undone",
                         "start the server again");
  std::string data = record.SerializeAsString(), bytes;
  addWord(bytes, uint32_t(data.size()));
  addWord(bytes, checksumOf(bytes.data(), data.data(), data.size()));
  bytes += data;
  bool isKept =
      file->write(bytes, size) && (sync == JournalSync::Never || file->sync());
  if (!isKept) {
    Status status = failed("write", path);
    // Half a record must not stand before the next one. After a failed sync
    // nothing says what is on the disk.
    isBroken = !file->truncate(size) ||
               (sync == JournalSync::EachRecord && !file->sync());
    return status;
  }
  size += bytes.size();
  return Status();
}

} // namespace dist::cluster
