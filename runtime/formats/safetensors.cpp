//===- safetensors.cpp - The safetensors file format -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/safetensors.h"
#include "runtime/formats/file_system.h"
#include "runtime/formats/json.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dist {

using nlohmann::json;

// The format's own limit.
static constexpr uint64_t kHeaderLimit = 100'000'000;
/// The header's length stands in front of it.
static constexpr size_t kLengthBytes = 8;
static constexpr const char *kTooShort =
    "it is shorter than its header's length";

static const struct {
  const char *name;
  DataType type;
} kTypes[] = {
    {"F32", manifest::F32},   {"F64", manifest::F64},   {"F16", manifest::F16},
    {"BF16", manifest::BF16}, {"BOOL", manifest::BOOL}, {"I8", manifest::I8},
    {"I16", manifest::I16},   {"I32", manifest::I32},   {"I64", manifest::I64},
    {"U8", manifest::U8},     {"U16", manifest::U16},   {"U32", manifest::U32},
    {"U64", manifest::U64}};

static Status damaged(const std::string &where, const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "damaged safetensors file",
                       where, why, "write or fetch it again");
}

Status SafetensorsFile::open(const std::string &path,
                             std::unique_ptr<SafetensorsFile> *out,
                             FileAccess access) {
  std::shared_ptr<const FileBytes> file;
  DIST_RETURN_IF_ERROR(FileBytes::open(path, &file, access));
  DIST_RETURN_IF_ERROR(parse(file->bytes(), path, out));
  (*out)->bytes = std::move(file);
  return Status();
}

/// A JSON array of non-negative integers.
static bool readIntegers(const json &value, std::vector<int64_t> *out) {
  if (!value.is_array() || value.size() > 64)
    return false;
  for (const json &item : value) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > INT64_MAX)
      return false;
    out->push_back(item.get<int64_t>());
  }
  return true;
}

/// Where the JSON of a file's header ends, by the 8 bytes in front of it.
static Status findHeaderEnd(const char *length, uint64_t fileBytes,
                            const std::string &where, uint64_t *end) {
  uint64_t headerSize = 0;
  std::memcpy(&headerSize, length, sizeof headerSize);
  if (headerSize > kHeaderLimit || headerSize > fileBytes - sizeof headerSize)
    return damaged(where, "its header claims " + std::to_string(headerSize) +
                              " bytes, the file has " +
                              std::to_string(fileBytes));
  *end = sizeof headerSize + headerSize;
  return Status();
}

/// The tensors that a header tells of, and the metadata, unless null; `offsets`
/// are theirs among `dataBytes`.
static Status parseHeader(std::string_view header, uint64_t dataBytes,
                          const std::string &where,
                          std::map<std::string, TensorView> *table,
                          std::map<std::string, int64_t> *offsets,
                          std::map<std::string, std::string> *notes) {
  json root = parseJson(header);
  if (!root.is_object())
    return damaged(where, "its header is no JSON object");
  for (auto &[name, item] : root.items()) {
    if (name == "__metadata__") {
      if (!item.is_object())
        return damaged(where, "its metadata is no JSON object");
      for (auto &[key, value] : item.items())
        if (notes && value.is_string())
          (*notes)[key] = value.get<std::string>();
      continue;
    }
    auto bad = [&, &name = name](const std::string &why) {
      return damaged(where, "tensor '" + name + "' " + why);
    };
    if (!item.is_object() || !item.contains("dtype") ||
        !item["dtype"].is_string() || !item.contains("shape") ||
        !item.contains("data_offsets"))
      return bad("has no dtype, shape or data_offsets");
    TensorView view;
    const std::string &dtype = item["dtype"].get_ref<const std::string &>();
    for (auto &row : kTypes)
      if (dtype == row.name)
        view.type = row.type;
    if (view.type == manifest::DATA_TYPE_UNKNOWN)
      return bad("has the unsupported type '" + dtype + "'");
    std::vector<int64_t> range;
    if (!readIntegers(item["shape"], &view.shape) ||
        !readIntegers(item["data_offsets"], &range) || range.size() != 2)
      return bad("has a malformed shape or offsets");
    size_t size = 0;
    if (!checkedBytes(view.shape, byteSize(view.type), &size))
      return bad("has a shape too large");
    if (range[0] > range[1] || uint64_t(range[1]) > dataBytes ||
        uint64_t(range[1] - range[0]) != size)
      return bad("has offsets that do not fit its shape or the file");
    (*offsets)[name] = range[0];
    table->emplace(name, std::move(view));
  }
  return Status();
}

Status SafetensorsFile::parse(std::string_view bytes, const std::string &where,
                              std::unique_ptr<SafetensorsFile> *out) {
  if (bytes.size() < kLengthBytes)
    return damaged(where, kTooShort);
  uint64_t end = 0;
  DIST_RETURN_IF_ERROR(findHeaderEnd(bytes.data(), bytes.size(), where, &end));
  auto file = std::make_unique<SafetensorsFile>();
  std::map<std::string, int64_t> offsets;
  DIST_RETURN_IF_ERROR(parseHeader(
      bytes.substr(kLengthBytes, end - kLengthBytes), bytes.size() - end, where,
      &file->table, &offsets, &file->notes));
  for (auto &[name, view] : file->table)
    view.data = bytes.data() + end + offsets[name];
  *out = std::move(file);
  return Status();
}

const TensorView *SafetensorsFile::find(const std::string &name) const {
  auto it = table.find(name);
  return it == table.end() ? nullptr : &it->second;
}

//===----------------------------------------------------------------------===//
// Reading one tensor at a time
//===----------------------------------------------------------------------===//

SafetensorsReader::~SafetensorsReader() {
  if (descriptor >= 0)
    fileSystem().close(descriptor);
}

Status SafetensorsReader::readBytes(int64_t offset, size_t size,
                                    void *out) const {
  for (size_t done = 0; done < size;) {
    ssize_t got = fileSystem().readAt(
        descriptor, static_cast<char *>(out) + done,
        std::min(size - done, size_t(1) << 30), offset + done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return Status::error(StatusCode::Unavailable, "cannot read file", path,
                           std::strerror(errno),
                           "check the name and its permissions");
    if (got == 0)
      return damaged(path, "it was cut short while it was read");
    done += got;
  }
  return Status();
}

Status SafetensorsReader::open(const std::string &path,
                               std::unique_ptr<SafetensorsReader> *out) {
  std::unique_ptr<SafetensorsReader> file(new SafetensorsReader);
  file->path = path;
  file->descriptor = fileSystem().open(path, O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (file->descriptor < 0 || fileSystem().status(file->descriptor, &info) != 0)
    return Status::error(errno == ENOENT ? StatusCode::InvalidInput
                                         : StatusCode::Unavailable,
                         "cannot read file", path, std::strerror(errno),
                         "check the name and its permissions");
  file->fileBytes = info.st_size;
  if (!S_ISREG(info.st_mode))
    return Status::error(StatusCode::InvalidInput, "cannot read file", path,
                         "it is no regular file", "give a safetensors file");
  if (file->fileBytes < int64_t(kLengthBytes))
    return damaged(path, kTooShort);
  std::string prefix(kLengthBytes, '\0');
  DIST_RETURN_IF_ERROR(file->readBytes(0, kLengthBytes, prefix.data()));
  uint64_t end = 0;
  DIST_RETURN_IF_ERROR(
      findHeaderEnd(prefix.data(), file->fileBytes, path, &end));
  prefix.resize(end);
  DIST_RETURN_IF_ERROR(file->readBytes(kLengthBytes, end - kLengthBytes,
                                       prefix.data() + kLengthBytes));
  file->crc = crc32Of(prefix);
  DIST_RETURN_IF_ERROR(parseHeader(
      std::string_view(prefix).substr(kLengthBytes), file->fileBytes - end,
      path, &file->table, &file->offsets, nullptr));
  for (auto &[name, offset] : file->offsets)
    offset += end;
  *out = std::move(file);
  return Status();
}

Status SafetensorsReader::read(const std::string &name, Tensor *out) const {
  const TensorView &view = table.at(name);
  out->type = view.type;
  out->shape = view.shape;
  out->data.resize(view.bytes());
  return readBytes(offsets.at(name), out->data.size(), out->data.data());
}

Status SafetensorsReader::crcOf(int64_t offset, int64_t size,
                                uint32_t *out) const {
  *out = 0;
  std::string block(std::min<int64_t>(size, 1 << 20), '\0');
  for (int64_t done = 0; done < size;) {
    size_t part = std::min<int64_t>(block.size(), size - done);
    DIST_RETURN_IF_ERROR(readBytes(offset + done, part, block.data()));
    *out = crc32Of(std::string_view(block).substr(0, part), *out);
    done += part;
  }
  return Status();
}

Status SafetensorsReader::readCrc(const std::string &name,
                                  uint32_t *out) const {
  return crcOf(offsets.at(name), table.at(name).bytes(), out);
}

Status SafetensorsReader::readCrc(uint32_t *out) const {
  return crcOf(0, fileBytes, out);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void SafetensorsWriter::add(const std::string &name, DataType type,
                            const std::vector<int64_t> &shape,
                            const void *data) {
  items.push_back({name, {type, shape, data}, nullptr});
}

void SafetensorsWriter::add(const std::string &name, DataType type,
                            const std::vector<int64_t> &shape,
                            std::function<Status(Tensor *out)> make) {
  items.push_back({name, {type, shape, nullptr}, std::move(make)});
}

Status SafetensorsWriter::writeData(const Item &item, FileSink &sink,
                                    uint32_t *crc) {
  std::string_view rest(static_cast<const char *>(item.view.data),
                        item.view.bytes());
  if (item.make) {
    DIST_RETURN_IF_ERROR(item.make(&made));
    if (made.type != item.view.type || made.shape != item.view.shape)
      return Status::error(StatusCode::Internal, "cannot write file", path,
                           "tensor '" + item.name + "' is another one");
    rest = std::string_view(made.data.data(), made.data.size());
  }
  while (!rest.empty()) {
    std::string_view part = rest.substr(0, every ? every : rest.size());
    rest.remove_prefix(part.size());
    DIST_RETURN_IF_ERROR(sink.write(part));
    if (crc)
      *crc = crc32Of(part, *crc);
    written += part.size();
    if (every && written >= every) {
      afterEvery();
      written = 0;
    }
  }
  return Status();
}

Status SafetensorsWriter::finish(bool durable, SafetensorsSums *sums) {
  // Large elements first: then every tensor is aligned to its element, since
  // the format allows no holes.
  std::vector<const Item *> order;
  for (size_t wide : {8, 4, 2, 1})
    for (const Item &item : items)
      if (byteSize(item.view.type) == wide)
        order.push_back(&item);
  json header = json::object();
  if (!notes.empty())
    header["__metadata__"] = notes;
  uint64_t offset = 0;
  for (const Item *item : order) {
    const char *dtype = "";
    for (auto &row : kTypes)
      if (row.type == item->view.type)
        dtype = row.name;
    uint64_t end = offset + item->view.bytes();
    header[item->name] = {{"dtype", dtype},
                          {"shape", item->view.shape},
                          {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = jsonText(header);
  // The data start at a multiple of 64, so that mapped views are aligned.
  text.resize((text.size() + 8 + 63) / 64 * 64 - 8, ' ');
  uint64_t size = text.size();
  std::string prefix(reinterpret_cast<const char *>(&size), sizeof size);
  prefix += text;

  FileSink sink;
  DIST_RETURN_IF_ERROR(sink.open(path));
  DIST_RETURN_IF_ERROR(sink.write(prefix));
  for (const Item *item : order) {
    uint32_t *crc = sums ? &sums->tensors[item->name] : nullptr;
    DIST_RETURN_IF_ERROR(writeData(*item, sink, crc));
  }
  if (sums) {
    sums->bytes = prefix.size() + offset;
    sums->header = crc32Of(prefix);
  }
  return sink.commit(durable);
}

} // namespace dist
