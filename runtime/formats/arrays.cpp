//===- arrays.cpp - Data files of any known form -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/arrays.h"
#include "runtime/core/text.h"
#include "runtime/formats/crc32c.h"
#include "runtime/formats/npy.h"
#include "runtime/formats/npz.h"
#include "runtime/formats/safetensors.h"
#include "runtime/formats/tf_record.h"
#include <algorithm>
#include <cstring>

namespace dist {

//===----------------------------------------------------------------------===//
// IDX
//===----------------------------------------------------------------------===//

static DataType idxType(unsigned char code) {
  switch (code) {
  case 0x08:
    return manifest::U8;
  case 0x09:
    return manifest::I8;
  case 0x0b:
    return manifest::I16;
  case 0x0c:
    return manifest::I32;
  case 0x0d:
    return manifest::F32;
  case 0x0e:
    return manifest::F64;
  default:
    return manifest::DATA_TYPE_UNKNOWN;
  }
}

bool isIdx(std::string_view bytes) {
  return bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 &&
         idxType(bytes[2]) != manifest::DATA_TYPE_UNKNOWN && bytes[3] >= 1 &&
         bytes[3] <= 16;
}

static Status damagedIdx(const std::string &where, const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "damaged IDX file", where, why,
                       "fetch it again");
}

/// Of a file's start.
static Status parseIdxHeader(std::string_view bytes, const std::string &where,
                             ArrayHeader *out) {
  if (!isIdx(bytes))
    return damagedIdx(where, "its magic number is unknown");
  ArrayHeader header;
  header.type = idxType(bytes[2]);
  size_t rank = static_cast<unsigned char>(bytes[3]);
  header.start = 4 + 4 * rank;
  if (bytes.size() < header.start)
    return damagedIdx(where, "it is truncated");
  for (size_t i = 0; i < rank; ++i) {
    uint32_t dim = 0;
    std::memcpy(&dim, bytes.data() + 4 + 4 * i, sizeof dim);
    header.shape.push_back(__builtin_bswap32(dim));
  }
  if (!checkedBytes(header.shape, byteSize(header.type), &header.bytes))
    return damagedIdx(where, "its shape is too large");
  *out = std::move(header);
  return Status();
}

Status parseIdx(std::string_view bytes, std::shared_ptr<const void> owner,
                const std::string &where, HostArray *out) {
  ArrayHeader header;
  DIST_RETURN_IF_ERROR(parseIdxHeader(bytes, where, &header));
  if (bytes.size() < header.end())
    return damagedIdx(where, "it is truncated: shape " +
                                 toString(header.shape) + " does not fit " +
                                 std::to_string(bytes.size()) + " bytes");
  HostArray array{header.type, header.shape, bytes.data() + header.start,
                  std::move(owner)};
  if (size_t size = byteSize(array.type); size > 1) {
    auto copy = std::make_shared<std::string>(array.data, header.bytes);
    for (size_t i = 0; i < header.bytes; i += size)
      std::reverse(copy->begin() + i, copy->begin() + i + size);
    array.data = copy->data();
    array.owner = copy;
  }
  *out = std::move(array);
  return Status();
}

//===----------------------------------------------------------------------===//
// CIFAR-10, and any form
//===----------------------------------------------------------------------===//

static constexpr size_t kCifarImage = 3 * 32 * 32;

Status parseCifar(std::string_view bytes, std::shared_ptr<const void>,
                  const std::string &where, HostArray *images,
                  HostArray *labels) {
  size_t row = kCifarImage + 1, count = bytes.size() / row;
  if (count == 0 || bytes.size() % row != 0)
    return Status::error(StatusCode::InvalidInput,
                         "damaged CIFAR-10 binary file", where,
                         "its size is no multiple of 3073", "fetch it again");
  auto pixels = std::make_shared<std::string>();
  auto classes = std::make_shared<std::string>();
  pixels->reserve(count * kCifarImage);
  for (size_t i = 0; i < count; ++i) {
    classes->push_back(bytes[i * row]);
    pixels->append(bytes.substr(i * row + 1, kCifarImage));
  }
  *images = {manifest::U8, {int64_t(count), 3, 32, 32}, pixels->data(), pixels};
  *labels = {manifest::U8, {int64_t(count)}, classes->data(), classes};
  return Status();
}

/// All arrays of what is no archive.
static Status parseAll(std::string_view bytes,
                       std::shared_ptr<const void> owner,
                       const std::string &path, std::vector<NamedArray> *out,
                       bool wholeTables) {
  if (isNpy(bytes)) {
    out->emplace_back();
    return parseNpy(bytes, std::move(owner), path, &out->back().array);
  }
  if (isIdx(bytes)) {
    out->emplace_back();
    return parseIdx(bytes, std::move(owner), path, &out->back().array);
  }
  if (bytes.size() > 8 && bytes[8] == '{' &&
      (endsWith(path, ".safetensors") || bytes[7] == 0)) {
    std::unique_ptr<SafetensorsFile> file;
    DIST_RETURN_IF_ERROR(SafetensorsFile::parse(bytes, path, &file));
    for (auto &[name, view] : file->tensors())
      out->push_back(
          {name, HostArray{view.type, view.shape,
                           static_cast<const char *>(view.data), owner}});
    return Status();
  }
  if (endsWith(path, ".bin") || endsWith(path, ".bin.gz")) {
    out->resize(2);
    (*out)[1].name = "label";
    return parseCifar(bytes, std::move(owner), path, &(*out)[0].array,
                      &(*out)[1].array);
  }
  if (endsWith(path, ".csv") || endsWith(path, ".csv.gz")) {
    HostArray table;
    std::vector<std::string> columns;
    DIST_RETURN_IF_ERROR(parseCsv(bytes, path, &table, &columns));
    if (wholeTables)
      out->push_back(
          {"", std::move(table), nullptr, 0, true, shareNames(columns)});
    else
      splitLabel(table, columns, out);
    return Status();
  }
  return Status::error(
      StatusCode::InvalidInput, "unknown data form", path,
      "it is no .npy, .npz, IDX, safetensors, TFRecord, .csv or CIFAR-10 "
      ".bin file",
      "convert it, for example with numpy.save");
}

Status parseArrays(std::string_view bytes, std::shared_ptr<const void> owner,
                   const std::string &path, std::vector<NamedArray> *out,
                   bool wholeTables, const ArrayDemand &demand) {
  out->clear();
  if (bytes.empty())
    return Status::error(StatusCode::InvalidInput, "empty data file", path, "",
                         "give a file with examples");
  if (isZip(bytes))
    return parseNpz(bytes, std::move(owner), path, demand, out);
  if (isTfRecord(bytes))
    return parseTfRecord(bytes, path, demand, out);
  std::vector<NamedArray> all;
  DIST_RETURN_IF_ERROR(
      parseAll(bytes, std::move(owner), path, &all, wholeTables));
  std::vector<std::string> names;
  for (const NamedArray &item : all)
    names.push_back(item.name);
  std::vector<bool> wanted = demand.choose(names);
  for (size_t i = 0; i < all.size(); ++i)
    if (wanted[i])
      out->push_back(std::move(all[i]));
  return Status();
}

UnpackLimit limitByHeader(const std::string &path, const ArrayDemand &demand) {
  UnpackLimit limit;
  limit.header = [check = demand.check, path](std::string_view start,
                                              size_t *bytes) {
    ArrayHeader header;
    if (isNpy(start))
      DIST_RETURN_IF_ERROR(parseNpyHeader(start, path, &header));
    else if (isIdx(start))
      DIST_RETURN_IF_ERROR(parseIdxHeader(start, path, &header));
    else
      return Status();
    *bytes = header.end();
    return check("", header.type, header.shape);
  };
  return limit;
}

Status readArrays(const std::string &path, std::vector<NamedArray> *out,
                  bool wholeTables, FileAccess access,
                  const ArrayDemand &demand) {
  std::shared_ptr<const FileBytes> file;
  DIST_RETURN_IF_ERROR(FileBytes::openUnpacked(path, &file, access,
                                               limitByHeader(path, demand)));
  if (demand.leavesRecords && isTfRecord(file->bytes()))
    return indexTfRecord(file, path, demand, out);
  return parseArrays(file->bytes(), file, path, out, wholeTables, demand);
}

} // namespace dist
