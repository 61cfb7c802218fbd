//===- npz.cpp - NumPy's archives -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/npy.h"
#include <cstring>
#include <map>

namespace dist {

bool isZip(std::string_view bytes) {
  return bytes.substr(0, 4) == std::string_view("PK\3\4", 4) ||
         bytes.substr(0, 4) == std::string_view("PK\5\6", 4);
}

/// A little-endian integer at `offset`; 0 beyond the end.
template <typename Integer>
static Integer at(std::string_view bytes, size_t offset) {
  Integer value = 0;
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof value)
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

static constexpr uint32_t kEntry = 0x02014b50, kLocal = 0x04034b50,
                          kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                          kLocator64 = 0x07064b50;

Status parseNpz(std::string_view bytes, std::shared_ptr<const void> owner,
                const std::string &where,
                std::vector<std::pair<std::string, HostArray>> *out) {
  auto damaged = [&](const std::string &why) {
    return Status::error(StatusCode::InvalidInput, "damaged .npz archive",
                         where, why, "write it again with numpy.savez");
  };
  // The end record stands in the last 64 KiB, before the archive's comment.
  size_t end = std::string_view::npos;
  for (size_t back = 22; back <= bytes.size() && back < 22 + 65536; ++back)
    if (at<uint32_t>(bytes, bytes.size() - back) == kEnd) {
      end = bytes.size() - back;
      break;
    }
  if (end == std::string_view::npos)
    return damaged("it is truncated: its directory is missing");
  uint64_t count = at<uint16_t>(bytes, end + 10);
  uint64_t offset = at<uint32_t>(bytes, end + 16);
  if (end >= 20 && at<uint32_t>(bytes, end - 20) == kLocator64) {
    uint64_t end64 = at<uint64_t>(bytes, end - 12);
    if (at<uint32_t>(bytes, end64) != kEnd64)
      return damaged("its directory is malformed");
    count = at<uint64_t>(bytes, end64 + 32);
    offset = at<uint64_t>(bytes, end64 + 48);
  }
  // Members that share bytes are how a small archive becomes a huge one; those
  // that do not are at most 1032 times as large as the file.
  std::map<uint64_t, uint64_t> taken; // from, to
  size_t left = availableMemory() / 2;
  for (uint64_t i = 0; i < count; ++i) {
    if (offset > bytes.size() || bytes.size() - offset < 46 ||
        at<uint32_t>(bytes, offset) != kEntry)
      return damaged("its directory is malformed");
    uint16_t method = at<uint16_t>(bytes, offset + 10);
    uint32_t crc = at<uint32_t>(bytes, offset + 16);
    uint64_t packed = at<uint32_t>(bytes, offset + 20);
    uint64_t unpacked = at<uint32_t>(bytes, offset + 24);
    size_t nameSize = at<uint16_t>(bytes, offset + 28);
    size_t extraSize = at<uint16_t>(bytes, offset + 30);
    size_t commentSize = at<uint16_t>(bytes, offset + 32);
    uint64_t local = at<uint32_t>(bytes, offset + 42);
    if (bytes.size() - offset - 46 < nameSize + extraSize + commentSize)
      return damaged("its directory is malformed");
    std::string name(bytes.substr(offset + 46, nameSize));
    // Sizes of 4 GiB and more stand in the zip64 field, those that need it.
    std::string_view extra = bytes.substr(offset + 46 + nameSize, extraSize);
    for (size_t e = 0; e + 4 <= extra.size();
         e += 4 + at<uint16_t>(extra, e + 2)) {
      if (at<uint16_t>(extra, e) != 1)
        continue;
      size_t next = e + 4;
      for (uint64_t *field : {&unpacked, &packed, &local})
        if (*field == 0xffffffff) {
          *field = at<uint64_t>(extra, next);
          next += 8;
        }
    }
    offset += 46 + nameSize + extraSize + commentSize;
    if (name.size() < 4 || name.substr(name.size() - 4) != ".npy")
      continue;
    std::string member = where + ":" + name;
    if (local > bytes.size() || bytes.size() - local < 30 ||
        at<uint32_t>(bytes, local) != kLocal)
      return damaged("member '" + name + "' is malformed");
    uint64_t start = local + 30 + at<uint16_t>(bytes, local + 26) +
                     at<uint16_t>(bytes, local + 28);
    if (start > bytes.size() || bytes.size() - start < packed)
      return damaged("member '" + name + "' is truncated");
    auto after = taken.lower_bound(local);
    bool overlaps = after != taken.end() && after->first < start + packed;
    if (after != taken.begin())
      overlaps |= std::prev(after)->second > local;
    if (overlaps)
      return damaged("member '" + name + "' overlaps another one");
    taken[local] = start + packed;
    std::string_view content = bytes.substr(start, packed);
    HostArray array;
    // Damage that leaves sizes as they are shows in the checksum only.
    auto sound = [&](std::string_view plain) { return crc32Of(plain) == crc; };
    Status wrong = damaged("the checksum of member '" + name +
                           "' is not that of its data");
    if (method == 0) {
      if (!sound(content))
        return wrong;
      DIST_RETURN_IF_ERROR(parseNpy(content, owner, member, &array));
    } else if (method == 8) {
      if (unpacked > left)
        return Status::error(
            StatusCode::Unavailable, "cannot unpack", member,
            "its " + std::to_string(unpacked) +
                " bytes and those before it "
                "are more than half of the memory that is free",
            "write it with numpy.savez, or give it more memory");
      left -= unpacked;
      auto plain = std::make_shared<std::string>();
      DIST_RETURN_IF_ERROR(
          inflateBytes(content, true, unpacked, member, plain.get()));
      if (!sound(*plain))
        return wrong;
      DIST_RETURN_IF_ERROR(parseNpy(*plain, plain, member, &array));
    } else {
      return damaged("member '" + name + "' is packed in an unknown way");
    }
    out->emplace_back(name.substr(0, name.size() - 4), std::move(array));
  }
  return Status();
}

} // namespace dist
