//===- npz.cpp - NumPy's archives -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/npz.h"
#include "runtime/core/text.h"
#include "runtime/formats/npy.h"
#include <algorithm>
#include <cstring>
#include <map>
#include <zip.h>

namespace dist {

bool isZip(std::string_view bytes) {
  return bytes.substr(0, 4) == std::string_view("PK\3\4", 4) ||
         bytes.substr(0, 4) == std::string_view("PK\5\6", 4);
}

namespace {

/// Memory as libzip's source, which notes where libzip reads: that is how a
/// member's place is known, of which libzip does not tell. Members that are
/// stored as they are need not be copied then, and those that overlap are seen.
class ArchiveBytes {
public:
  explicit ArchiveBytes(std::string_view bytes) : bytes(bytes) {
    zip_error_init(&error);
  }
  ~ArchiveBytes() { zip_error_fini(&error); }
  ArchiveBytes(const ArchiveBytes &) = delete;
  ArchiveBytes &operator=(const ArchiveBytes &) = delete;

  static zip_int64_t callback(void *self, void *data, zip_uint64_t size,
                              zip_source_cmd_t command) {
    return static_cast<ArchiveBytes *>(self)->answer(data, size, command);
  }

  /// Begins to note.
  void mark() { first = last = SIZE_MAX; }
  /// Where the first and the last read since then began; SIZE_MAX: none did.
  size_t firstRead() const { return first; }
  size_t lastRead() const { return last; }

private:
  zip_int64_t answer(void *data, zip_uint64_t size, zip_source_cmd_t command) {
    switch (command) {
    case ZIP_SOURCE_OPEN:
      position = 0;
      return 0;
    case ZIP_SOURCE_READ: {
      size_t count = std::min<size_t>(size, bytes.size() - position);
      std::memcpy(data, bytes.data() + position, count);
      first = first == SIZE_MAX ? position : first;
      last = position;
      position += count;
      return count;
    }
    case ZIP_SOURCE_SEEK: {
      zip_int64_t to = zip_source_seek_compute_offset(position, bytes.size(),
                                                      data, size, &error);
      if (to < 0)
        return -1;
      position = to;
      return 0;
    }
    case ZIP_SOURCE_TELL:
      return position;
    case ZIP_SOURCE_STAT: {
      auto *stat = static_cast<zip_stat_t *>(data);
      zip_stat_init(stat);
      stat->size = bytes.size();
      stat->valid = ZIP_STAT_SIZE;
      return sizeof *stat;
    }
    case ZIP_SOURCE_ERROR:
      return zip_error_to_data(&error, data, size);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
      return 0;
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(
          ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
          ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
          ZIP_SOURCE_SUPPORTS, -1);
    default:
      zip_error_set(&error, ZIP_ER_OPNOTSUPP, 0);
      return -1;
    }
  }

  std::string_view bytes;
  size_t position = 0, first = SIZE_MAX, last = SIZE_MAX;
  zip_error_t error;
};

struct CloseFile {
  void operator()(zip_file_t *file) const { zip_fclose(file); }
};
using ArchiveFile = std::unique_ptr<zip_file_t, CloseFile>;

class Archive {
public:
  Archive(std::string_view bytes, const std::string &where)
      : bytes(bytes), where(where), source(bytes) {}
  ~Archive() {
    if (archive)
      zip_discard(archive);
  }
  Archive(const Archive &) = delete;
  Archive &operator=(const Archive &) = delete;

  Status open();
  int64_t size() const { return zip_get_num_entries(archive, 0); }
  std::string name(int64_t member) const {
    const char *text = zip_get_name(archive, member, ZIP_FL_ENC_RAW);
    return text ? text : "";
  }
  /// Reads a member if `check` has no error to say of it.
  Status read(int64_t member, const std::shared_ptr<const void> &owner,
              const std::function<Status(const ArrayHeader &)> &check,
              HostArray *out);

private:
  /// A member that is being read.
  struct Member {
    std::string name, where;
    zip_stat_t stat{};
    std::string_view packed;
  };
  Status damaged(const std::string &why) const {
    return Status::error(StatusCode::InvalidInput, "damaged .npz archive",
                         where, why, "write it again with numpy.savez");
  }
  Status wrongChecksum(const Member &member) const {
    return damaged("the checksum of member '" + member.name +
                   "' is not that of its data");
  }
  /// Finds where its bytes lie, which no other member's may.
  Status locate(int64_t index, Member *member);
  Status inflate(int64_t index, const Member &member,
                 const std::function<Status(const ArrayHeader &)> &check,
                 std::string *out);
  /// Appends up to `count` bytes.
  Status readPart(zip_file_t *file, const Member &member, size_t count,
                  std::string *out) const;

  std::string_view bytes;
  const std::string &where;
  ArchiveBytes source;
  zip_t *archive = nullptr;
  std::map<size_t, size_t> taken; // from, to
  size_t memory = availableMemory() / 2;
};

} // namespace

Status Archive::open() {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *read =
      zip_source_function_create(ArchiveBytes::callback, &source, &error);
  if (read)
    archive = zip_open_from_source(read, ZIP_RDONLY, &error);
  int code = zip_error_code_zip(&error);
  zip_error_fini(&error);
  if (archive)
    return Status();
  zip_source_free(read);
  if (code == ZIP_ER_MEMORY)
    return Status::error(StatusCode::Unavailable, "cannot unpack", where,
                         "there is no memory for its directory",
                         "free some memory");
  return damaged(code == ZIP_ER_NOZIP
                     ? "it is truncated: its directory is missing"
                     : "its directory is malformed");
}

Status Archive::locate(int64_t index, Member *member) {
  member->name = name(index);
  member->where = where + ":" + member->name;
  zip_uint64_t needed =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_CRC | ZIP_STAT_COMP_METHOD;
  if (zip_stat_index(archive, index, 0, &member->stat) != 0 ||
      (member->stat.valid & needed) != needed)
    return damaged("member '" + member->name + "' is malformed");
  // Its header comes first, and its bytes, as they are packed, last.
  source.mark();
  char byte;
  ArchiveFile file(zip_fopen_index(archive, index, ZIP_FL_COMPRESSED));
  if (!file || zip_fread(file.get(), &byte, 1) != 1)
    return damaged("member '" + member->name + "' is malformed");
  size_t from = source.firstRead(), start = source.lastRead();
  if (start > bytes.size() || bytes.size() - start < member->stat.comp_size)
    return damaged("member '" + member->name + "' is truncated");
  member->packed = bytes.substr(start, member->stat.comp_size);
  // Members that share bytes are how a small archive becomes a huge one; those
  // that do not are at most 1032 times as large as the file.
  size_t to = start + member->packed.size();
  auto after = taken.lower_bound(from);
  bool overlaps = after != taken.end() && after->first < to;
  if (after != taken.begin())
    overlaps |= std::prev(after)->second > from;
  if (overlaps)
    return damaged("member '" + member->name + "' overlaps another one");
  taken[from] = to;
  return Status();
}

Status Archive::readPart(zip_file_t *file, const Member &member, size_t count,
                         std::string *out) const {
  size_t before = out->size();
  out->resize(before + count);
  zip_int64_t got = zip_fread(file, out->data() + before, count);
  if (got == zip_int64_t(count))
    return Status();
  zip_error_t *error = zip_file_get_error(file);
  if (got < 0 && zip_error_code_zip(error) == ZIP_ER_CRC)
    return wrongChecksum(member);
  return Status::error(
      StatusCode::InvalidInput, "damaged compressed data", member.where,
      got < 0 ? zip_error_strerror(error) : "it ends too early",
      "fetch or write the file again");
}

Status Archive::inflate(int64_t index, const Member &member,
                        const std::function<Status(const ArrayHeader &)> &check,
                        std::string *out) {
  constexpr size_t kBlock = size_t(1) << 18;
  ArchiveFile file(zip_fopen_index(archive, index, 0));
  if (!file)
    return damaged("member '" + member.name + "' is malformed");
  size_t size = member.stat.size;
  DIST_RETURN_IF_ERROR(
      readPart(file.get(), member, std::min(kBlock, size), out));
  ArrayHeader header;
  DIST_RETURN_IF_ERROR(parseNpyHeader(*out, member.where, &header));
  DIST_RETURN_IF_ERROR(check(header));
  if (header.end() != size)
    return damaged("member '" + member.name + "' has " + std::to_string(size) +
                   " bytes, but by its header, of shape " +
                   toString(header.shape) + ", it has " +
                   std::to_string(header.end()));
  if (size > memory)
    return Status::error(StatusCode::Unavailable, "cannot unpack", member.where,
                         "its " + std::to_string(size) +
                             " bytes and those before it "
                             "are more than half of the memory that is free",
                         "write it with numpy.savez, or give it more memory");
  memory -= size;
  out->reserve(size);
  while (out->size() < size)
    DIST_RETURN_IF_ERROR(readPart(file.get(), member,
                                  std::min(kBlock, size - out->size()), out));
  // The checksum is looked at where the member ends.
  char more;
  zip_int64_t rest = zip_fread(file.get(), &more, 1);
  return rest == 0 ? Status() : wrongChecksum(member);
}

Status Archive::read(int64_t index, const std::shared_ptr<const void> &owner,
                     const std::function<Status(const ArrayHeader &)> &check,
                     HostArray *out) {
  Member member;
  DIST_RETURN_IF_ERROR(locate(index, &member));
  bool plain = !(member.stat.valid & ZIP_STAT_ENCRYPTION_METHOD) ||
               member.stat.encryption_method == ZIP_EM_NONE;
  if (plain && member.stat.comp_method == ZIP_CM_DEFLATE) {
    auto unpacked = std::make_shared<std::string>();
    DIST_RETURN_IF_ERROR(inflate(index, member, check, unpacked.get()));
    return parseNpy(*unpacked, unpacked, member.where, out);
  }
  if (!plain || member.stat.comp_method != ZIP_CM_STORE)
    return damaged("member '" + member.name + "' is packed in an unknown way");
  // Damage that leaves sizes as they are shows in the checksum only.
  if (crc32Of(member.packed) != member.stat.crc)
    return wrongChecksum(member);
  ArrayHeader header;
  DIST_RETURN_IF_ERROR(parseNpyHeader(member.packed, member.where, &header));
  DIST_RETURN_IF_ERROR(check(header));
  return parseNpy(member.packed, owner, member.where, out);
}

Status parseNpz(std::string_view bytes, std::shared_ptr<const void> owner,
                const std::string &where, const ArrayDemand &demand,
                std::vector<NamedArray> *out) {
  Archive archive(bytes, where);
  DIST_RETURN_IF_ERROR(archive.open());
  std::vector<int64_t> members;
  std::vector<std::string> names;
  std::map<std::string, int> uses;
  for (int64_t i = 0; i < archive.size(); ++i) {
    std::string name = archive.name(i);
    if (!endsWith(name, ".npy"))
      continue;
    members.push_back(i);
    names.push_back(name.substr(0, name.size() - 4));
    ++uses[names.back()];
  }
  std::vector<bool> wanted = demand.choose(names);
  for (size_t i = 0; i < names.size(); ++i) {
    if (!wanted[i])
      continue;
    // NumPy takes the last one.
    if (uses[names[i]] > 1)
      return Status::error(StatusCode::InvalidInput, "ambiguous .npz archive",
                           where, "it holds '" + names[i] + "' more than once",
                           "write it again with numpy.savez");
    HostArray array;
    auto check = [&](const ArrayHeader &header) {
      return demand.check(names[i], header.type, header.shape);
    };
    DIST_RETURN_IF_ERROR(archive.read(members[i], owner, check, &array));
    out->push_back({names[i], std::move(array)});
  }
  return Status();
}

} // namespace dist
