//===- safetensors.cpp - The safetensors file format -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/safetensors.h"
#include <cstring>
#include <nlohmann/json.hpp>

namespace dist {

using nlohmann::json;

// The format's own limit.
static constexpr uint64_t kHeaderLimit = 100'000'000;

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

Status SafetensorsFile::parse(std::string_view bytes, const std::string &where,
                              std::unique_ptr<SafetensorsFile> *out) {
  uint64_t headerSize = 0;
  if (bytes.size() < sizeof headerSize)
    return damaged(where, "it is shorter than its header's length");
  std::memcpy(&headerSize, bytes.data(), sizeof headerSize);
  if (headerSize > kHeaderLimit ||
      headerSize > bytes.size() - sizeof headerSize)
    return damaged(where, "its header claims " + std::to_string(headerSize) +
                              " bytes, the file has " +
                              std::to_string(bytes.size()));
  std::string_view header = bytes.substr(sizeof headerSize, headerSize);
  std::string_view data = bytes.substr(sizeof headerSize + headerSize);
  json root = json::parse(header.begin(), header.end(), nullptr, false);
  if (!root.is_object())
    return damaged(where, "its header is no JSON object");

  auto file = std::make_unique<SafetensorsFile>();
  for (auto &[name, item] : root.items()) {
    if (name == "__metadata__") {
      if (!item.is_object())
        return damaged(where, "its metadata is no JSON object");
      for (auto &[key, value] : item.items())
        if (value.is_string())
          file->notes[key] = value.get<std::string>();
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
    std::vector<int64_t> offsets;
    if (!readIntegers(item["shape"], &view.shape) ||
        !readIntegers(item["data_offsets"], &offsets) || offsets.size() != 2)
      return bad("has a malformed shape or offsets");
    size_t size = 0;
    if (!checkedBytes(view.shape, byteSize(view.type), &size))
      return bad("has a shape too large");
    if (offsets[0] > offsets[1] || uint64_t(offsets[1]) > data.size() ||
        uint64_t(offsets[1] - offsets[0]) != size)
      return bad("has offsets that do not fit its shape or the file");
    view.data = data.data() + offsets[0];
    file->table.emplace(name, std::move(view));
  }
  *out = std::move(file);
  return Status();
}

const TensorView *SafetensorsFile::find(const std::string &name) const {
  auto it = table.find(name);
  return it == table.end() ? nullptr : &it->second;
}

void SafetensorsWriter::add(const std::string &name, DataType type,
                            const std::vector<int64_t> &shape,
                            const void *data) {
  items.push_back({name, {type, shape, data}});
}

Status SafetensorsWriter::finish(bool durable, uint32_t *outCrc) {
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
  std::string text =
      header.dump(-1, ' ', false, json::error_handler_t::replace);
  // The data start at a multiple of 64, so that mapped views are aligned.
  text.resize((text.size() + 8 + 63) / 64 * 64 - 8, ' ');
  uint64_t size = text.size();
  std::string prefix(reinterpret_cast<const char *>(&size), sizeof size);
  prefix += text;

  FileSink sink;
  DIST_RETURN_IF_ERROR(sink.open(path));
  DIST_RETURN_IF_ERROR(sink.write(prefix));
  uint32_t crc = crc32Of(prefix);
  size_t written = 0;
  for (const Item *item : order) {
    std::string_view rest(static_cast<const char *>(item->view.data),
                          item->view.bytes());
    while (!rest.empty()) {
      std::string_view part = rest.substr(0, every ? every : rest.size());
      rest.remove_prefix(part.size());
      DIST_RETURN_IF_ERROR(sink.write(part));
      if (outCrc)
        crc = crc32Of(part, crc);
      written += part.size();
      if (every && written >= every) {
        afterEvery();
        written = 0;
      }
    }
  }
  if (outCrc)
    *outCrc = crc;
  return sink.commit(durable);
}

} // namespace dist
