//===- tensor_bundle.cpp - TensorFlow's checkpoints -------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/tensor_bundle.h"
#include "runtime/formats/crc32c.h"
#include "runtime/formats/external_files.h"
#include "runtime/formats/sorted_table.h"
#include "runtime/formats/tensor_bundle.pb.h"
#include <cstdio>

using namespace dist;

static const struct {
  int32_t number;
  const char *name;
  DataType type;
} kTypes[] = {{1, "float32", manifest::F32},
              {2, "float64", manifest::F64},
              {3, "int32", manifest::I32},
              {4, "uint8", manifest::U8},
              {5, "int16", manifest::I16},
              {6, "int8", manifest::I8},
              {7, "string", manifest::DATA_TYPE_UNKNOWN},
              {8, "complex64", manifest::DATA_TYPE_UNKNOWN},
              {9, "int64", manifest::I64},
              {10, "bool", manifest::BOOL},
              {11, "qint8", manifest::DATA_TYPE_UNKNOWN},
              {12, "quint8", manifest::DATA_TYPE_UNKNOWN},
              {13, "qint32", manifest::DATA_TYPE_UNKNOWN},
              {14, "bfloat16", manifest::BF16},
              {15, "qint16", manifest::DATA_TYPE_UNKNOWN},
              {16, "quint16", manifest::DATA_TYPE_UNKNOWN},
              {17, "uint16", manifest::U16},
              {18, "complex128", manifest::DATA_TYPE_UNKNOWN},
              {19, "float16", manifest::F16},
              {20, "resource", manifest::DATA_TYPE_UNKNOWN},
              {21, "variant", manifest::DATA_TYPE_UNKNOWN},
              {22, "uint32", manifest::U32},
              {23, "uint64", manifest::U64}};

DataType dist::fromTensorFlowType(int32_t type) {
  for (auto &row : kTypes)
    if (row.number == type)
      return row.type;
  return manifest::DATA_TYPE_UNKNOWN;
}

std::string dist::tensorFlowTypeName(int32_t type) {
  for (auto &row : kTypes)
    if (row.number == type)
      return row.name;
  return "type " + std::to_string(type);
}

static Status damaged(const std::string &where, const std::string &why) {
  return Status::error(StatusCode::InvalidInput,
                       "damaged TensorFlow checkpoint", where, why,
                       "write or fetch it again");
}

static Status unsupported(const std::string &where, const std::string &why,
                          const std::string &todo) {
  return Status::error(StatusCode::InvalidInput,
                       "cannot read a TensorFlow checkpoint", where, why, todo);
}

/// The entry of a message; false where it is none.
static bool readEntry(std::string_view bytes, TensorBundle::Entry *out) {
  bundle::Entry entry;
  if (!entry.ParseFromArray(bytes.data(), int(bytes.size())) ||
      entry.shape().unknown_rank() || entry.offset() < 0 || entry.size() < 0 ||
      entry.shard_id() < 0)
    return false;
  out->type = entry.dtype();
  for (const bundle::Shape::Dim &dim : entry.shape().dim()) {
    if (dim.size() < 0)
      return false;
    out->shape.push_back(dim.size());
  }
  out->file = entry.shard_id();
  out->offset = entry.offset();
  out->size = entry.size();
  out->crc = entry.crc32c();
  out->parts = entry.slices_size();
  return true;
}

Status TensorBundle::parse(std::string_view bytes, const std::string &where,
                           std::unique_ptr<TensorBundle> *out) {
  SortedTable entries;
  DIST_RETURN_IF_ERROR(parseSortedTable(bytes, where, &entries));
  bundle::Header header;
  // The empty name sorts first.
  if (entries.empty() || !entries[0].first.empty() ||
      !header.ParseFromArray(entries[0].second.data(),
                             int(entries[0].second.size())) ||
      header.num_shards() < 1)
    return damaged(where, "it has no header");
  if (header.endianness() != bundle::Header::LITTLE)
    return unsupported(where, "its numbers are big-endian",
                       "save it on a little-endian machine");
  auto bundle = std::make_unique<TensorBundle>();
  bundle->shards = header.num_shards();
  for (size_t i = 1; i < entries.size(); ++i) {
    auto &[name, value] = entries[i];
    Entry entry;
    if (!readEntry(value, &entry))
      return damaged(where, "tensor '" + name + "' has no valid entry");
    if (entry.file >= bundle->shards)
      return damaged(where, "tensor '" + name + "' lies in file " +
                                std::to_string(entry.file) + " of " +
                                std::to_string(bundle->shards));
    bundle->table.emplace(name, std::move(entry));
  }
  *out = std::move(bundle);
  return {};
}

Status TensorBundle::open(ExternalFiles &files, const std::string &prefix,
                          std::unique_ptr<TensorBundle> *out) {
  std::string index = prefix + ".index";
  std::shared_ptr<const FileBytes> bytes;
  DIST_RETURN_IF_ERROR(files.open(index, index, &bytes));
  DIST_RETURN_IF_ERROR(parse(bytes->bytes(), index, out));
  (*out)->prefix = prefix;
  return {};
}

Status TensorBundle::read(ExternalFiles &files, const std::string &name,
                          HostArray *out) const {
  auto found = table.find(name);
  if (found == table.end())
    return damaged(prefix + ".index", "it has no tensor '" + name + "'");
  const Entry &entry = found->second;
  DataType type = fromTensorFlowType(entry.type);
  if (type == manifest::DATA_TYPE_UNKNOWN)
    return unsupported(prefix + ".index",
                       "tensor '" + name + "' is of " +
                           tensorFlowTypeName(entry.type),
                       "save it without it, or as numbers");
  if (entry.parts)
    return unsupported(prefix + ".index",
                       "variable '" + name + "' was saved in " +
                           std::to_string(entry.parts) + " parts",
                       "save it from a run without a partitioner");
  char ending[40];
  std::snprintf(ending, sizeof ending, ".data-%05d-of-%05d", entry.file,
                shards);
  std::string location = prefix + ending;
  std::shared_ptr<const FileBytes> file;
  DIST_RETURN_IF_ERROR(files.open(location, "tensor '" + name + "'", &file));
  std::string_view bytes = file->bytes();
  size_t size = 0;
  if (!checkedBytes(entry.shape, byteSize(type), &size) || size != entry.size)
    return damaged(location, "tensor '" + name +
                                 "' has a size that does not fit its shape");
  if (entry.offset > bytes.size() || entry.size > bytes.size() - entry.offset)
    return damaged(location, "tensor '" + name + "' lies outside the file");
  const char *data = bytes.data() + entry.offset;
  if (maskedCrc32c(data, size) != entry.crc)
    return damaged(location, "the checksum of tensor '" + name + "' differs");
  *out = {type, entry.shape, data, file};
  return {};
}
