//===- unpack.cpp - Files that are packed with gzip -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/text.h"
#include "runtime/formats/crc32c.h"
#include "runtime/formats/file.h"
#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

namespace dist {

/// What is unpacked at a time, with room for any header.
static constexpr size_t kBlock = size_t(1) << 18;

static Status damaged(const std::string &path, const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "damaged compressed data",
                       path, why, "fetch or write the file again");
}

bool isGzip(std::string_view bytes) {
  // Two bytes of magic, the only method there is, and no reserved flags.
  return bytes.size() >= 18 && bytes.substr(0, 3) == "\x1f\x8b\x08" &&
         (bytes[3] & 0xe0) == 0;
}

/// zlib's own form, of which TensorFlow writes TFRecords, too. Its two bytes of
/// magic may begin a text ("x^2,y"): so what is unpacked has to be records, or
/// nothing.
static bool isZlibOfRecords(std::string_view bytes) {
  auto byte = [&](size_t at) { return static_cast<unsigned char>(bytes[at]); };
  constexpr unsigned char ownDictionary = 0x20;
  if (bytes.size() < 8 || (byte(0) & 0x0f) != Z_DEFLATED ||
      (byte(0) * 256 + byte(1)) % 31 != 0 || (byte(1) & ownDictionary))
    return false;
  char start[12];
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS) != Z_OK)
    return false;
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  stream.avail_in = static_cast<uInt>(std::min(bytes.size(), kBlock));
  stream.next_out = reinterpret_cast<Bytef *>(start);
  stream.avail_out = sizeof start;
  int code = inflate(&stream, Z_NO_FLUSH);
  size_t size = sizeof start - stream.avail_out;
  inflateEnd(&stream);
  return size == 0 ? code == Z_STREAM_END
                   : isTfRecord(std::string_view(start, size));
}

namespace {

/// Memory of the kernel's that grows without a second copy beside it: half of
/// what is free may be taken, and a std::string would need all of it to grow.
class GrowingMemory {
public:
  GrowingMemory() = default;
  ~GrowingMemory() {
    if (capacity)
      munmap(start, capacity);
  }
  GrowingMemory(const GrowingMemory &) = delete;
  GrowingMemory &operator=(const GrowingMemory &) = delete;

  size_t size() const { return used; }
  std::string_view bytes() const { return {start, used}; }
  /// Room for `count` bytes behind those that are there; null: there is none.
  char *room(size_t count) {
    if (capacity - used < count &&
        !resize(std::max(2 * capacity, used + count)) && !resize(used + count))
      return nullptr;
    return start + used;
  }
  void add(size_t count) { used += count; }
  bool resize(size_t size) {
    size_t page = sysconf(_SC_PAGESIZE);
    size = (size + page - 1) / page * page;
    void *moved = !capacity ? mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                            : mremap(start, capacity, size, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED)
      return false;
    start = static_cast<char *>(moved);
    capacity = size;
    return true;
  }
  /// Gives what is there away, to who unmaps it; null: there is nothing.
  const char *take() {
    if (!used || !resize(used))
      return nullptr;
    capacity = 0;
    return start;
  }

private:
  char *start = nullptr;
  size_t used = 0, capacity = 0;
};

/// A gzip file, or one of zlib's form, which may hold several streams, one
/// after another.
class Inflater {
public:
  Inflater(std::string_view packed, bool isGzip)
      : packed(packed), windowBits(isGzip ? MAX_WBITS + 16 : MAX_WBITS) {}
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater &) = delete;
  Inflater &operator=(const Inflater &) = delete;

  Status open(const std::string &path) {
    return inflateInit2(&stream, windowBits) == Z_OK
               ? Status()
               : Status::error(StatusCode::Unavailable, "cannot unpack", path,
                               "zlib has no memory", "free some memory");
  }
  bool ended() const { return atEnd; }

  /// Appends the next block, or what is left.
  Status appendBlock(const std::string &path, GrowingMemory *out) {
    char *block = out->room(kBlock);
    if (!block)
      return Status::error(StatusCode::Unavailable,
                           "cannot hold an unpacked file in memory", path,
                           "there is no room behind its first " +
                               std::to_string(out->size()) + " bytes",
                           "give it unpacked, or more memory");
    stream.next_out = reinterpret_cast<Bytef *>(block);
    stream.avail_out = static_cast<uInt>(kBlock);
    while (stream.avail_out > 0 && !atEnd) {
      if (stream.avail_in == 0 && used < packed.size()) {
        size_t part = std::min<size_t>(packed.size() - used, 1 << 30);
        stream.next_in =
            reinterpret_cast<Bytef *>(const_cast<char *>(packed.data() + used));
        stream.avail_in = static_cast<uInt>(part);
        used += part;
      }
      int code = inflate(&stream, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        atEnd = stream.avail_in == 0 && used == packed.size();
        if (!atEnd && inflateReset(&stream) != Z_OK)
          return damaged(path, "zlib failed");
      } else if (code != Z_OK) {
        return damaged(path, code == Z_BUF_ERROR ? "it ends too early"
                                                 : "it is no valid stream");
      }
    }
    out->add(kBlock - stream.avail_out);
    return Status();
  }

private:
  std::string_view packed;
  const int windowBits; // 16 more: gzip only
  z_stream stream{};
  size_t used = 0;
  bool atEnd = false;
};

} // namespace

/// Unpacks all of it, or as much as shows that it is too much.
static Status unpack(std::string_view packed, const std::string &path,
                     const UnpackLimit &limit, GrowingMemory *out) {
  Inflater stream(packed, isGzip(packed));
  DIST_RETURN_IF_ERROR(stream.open(path));
  DIST_RETURN_IF_ERROR(stream.appendBlock(path, out));
  size_t memory = availableMemory() / 2, named = SIZE_MAX;
  size_t most = std::min(memory, limit.bytes);
  if (limit.header)
    DIST_RETURN_IF_ERROR(limit.header(out->bytes(), &named));
  if (named != SIZE_MAX) {
    if (named > most)
      return tooLarge(path, most, memory < limit.bytes);
    most = named;
    out->resize(std::max(named, out->size()) + kBlock);
  }
  while (out->size() <= most && !stream.ended())
    DIST_RETURN_IF_ERROR(stream.appendBlock(path, out));
  if (out->size() <= most)
    return Status();
  if (named == SIZE_MAX)
    return tooLarge(path, most, memory < limit.bytes);
  return damaged(path, "it unpacks to more than the " + std::to_string(named) +
                           " bytes that its header names");
}

Status FileBytes::openUnpacked(const std::string &path,
                               std::shared_ptr<const FileBytes> *out,
                               FileAccess access, const UnpackLimit &limit) {
  std::shared_ptr<const FileBytes> file;
  DIST_RETURN_IF_ERROR(open(path, &file, access));
  bool promised = endsWith(path, ".gz");
  // A length comes first, and may be any number.
  bool other = endsWith(path, ".safetensors") || isTfRecord(file->bytes());
  if (promised && !isGzip(file->bytes()))
    return Status::error(StatusCode::InvalidInput, "damaged compressed data",
                         path,
                         "its name ends in .gz, but no gzip stream is in it",
                         "fetch it again, or give it its right name");
  if (promised ||
      (!other && (isGzip(file->bytes()) || isZlibOfRecords(file->bytes())))) {
    auto plain = std::make_shared<FileBytes>();
    GrowingMemory grown;
    DIST_RETURN_IF_ERROR(unpack(file->bytes(), path, limit, &grown));
    plain->length = grown.size();
    plain->start = grown.take();
    plain->mapped = plain->start;
    file = std::move(plain);
  }
  *out = std::move(file);
  return Status();
}

} // namespace dist
