//===- sorted_table.cpp - LevelDB's table files -----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/sorted_table.h"
#include "runtime/formats/crc32c.h"
#include "runtime/formats/varint.h"
#include <cstring>

using namespace dist;
using std::string_view;

namespace {

/// At the end of a file: where two blocks are, padded to 40 bytes, and 8 bytes
/// that tell what it is.
constexpr size_t kFooterBytes = 48;
constexpr uint64_t kMagic = 0xdb4775248b80fb57;
/// Behind a block: how it is compressed, and a checksum of it and that.
constexpr size_t kTrailerBytes = 5;
/// Of all names, a byte of the file: those that repeat long beginnings must not
/// make a short file a long table.
constexpr uint64_t kNameBytes = 64;

Status damaged(const std::string &where, const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "damaged table of tensors",
                       where, why, "write or fetch it again");
}

uint32_t readWord(string_view bytes) {
  uint32_t word = 0;
  std::memcpy(&word, bytes.data(), sizeof word);
  return word;
}

/// Where a block is.
struct Handle {
  uint64_t offset = 0, size = 0;
};

bool takeHandle(string_view *bytes, Handle *out) {
  return takeVarint(bytes, &out->offset) && takeVarint(bytes, &out->size);
}

/// A block's names and values, without its trailer and the places of the names
/// that stand in whole, which only a search needs.
Status readBlock(string_view file, Handle handle, const std::string &where,
                 uint64_t *nameBytes, SortedTable *out) {
  if (handle.offset > file.size() ||
      file.size() - handle.offset < kTrailerBytes ||
      handle.size > file.size() - handle.offset - kTrailerBytes)
    return damaged(where, "a block lies outside the file");
  string_view block = file.substr(handle.offset, handle.size);
  string_view trailer = file.substr(handle.offset + handle.size, kTrailerBytes);
  if (maskedCrc32c(block.data(), block.size() + 1) !=
      readWord(trailer.substr(1)))
    return damaged(where, "a block's checksum differs");
  if (trailer[0] != 0)
    return damaged(where, "a block is compressed, which is not supported");
  if (block.size() < 4)
    return damaged(where, "a block is too short");
  uint64_t whole = readWord(block.substr(block.size() - 4));
  if (whole > block.size() / 4 - 1)
    return damaged(where, "a block is shorter than its list of names");
  block.remove_suffix(4 * (whole + 1));
  std::string name;
  while (!block.empty()) {
    uint64_t shared, rest, size;
    if (!takeVarint(&block, &shared) || !takeVarint(&block, &rest) ||
        !takeVarint(&block, &size) || shared > name.size() ||
        rest > block.size() || size > block.size() - rest)
      return damaged(where, "a block's entry is cut short");
    name.resize(shared);
    name += block.substr(0, rest);
    if (*nameBytes < name.size())
      return damaged(where, "its names are longer than such a file's can be");
    *nameBytes -= name.size();
    out->emplace_back(name, block.substr(rest, size));
    block.remove_prefix(rest + size);
  }
  return {};
}

} // namespace

Status dist::parseSortedTable(string_view bytes, const std::string &where,
                              SortedTable *out) {
  out->clear();
  if (bytes.size() < kFooterBytes)
    return damaged(where, "it is shorter than its end");
  string_view footer = bytes.substr(bytes.size() - kFooterBytes);
  uint64_t magic = 0;
  std::memcpy(&magic, footer.data() + kFooterBytes - sizeof magic,
              sizeof magic);
  if (magic != kMagic)
    return damaged(where, "it does not end as such tables do");
  footer.remove_suffix(sizeof magic);
  Handle unread, index;
  if (!takeHandle(&footer, &unread) || !takeHandle(&footer, &index))
    return damaged(where, "its end names no index");
  SortedTable blocks;
  uint64_t nameBytes = kNameBytes * bytes.size();
  DIST_RETURN_IF_ERROR(readBlock(bytes, index, where, &nameBytes, &blocks));
  // Each block once, for the same reason.
  uint64_t read = 0;
  for (auto &[last, value] : blocks) {
    Handle block;
    string_view rest = value;
    if (!takeHandle(&rest, &block))
      return damaged(where, "its index names no block");
    DIST_RETURN_IF_ERROR(readBlock(bytes, block, where, &nameBytes, out));
    read += block.size;
    if (read > bytes.size())
      return damaged(where, "its index names more blocks than there are");
  }
  return {};
}
