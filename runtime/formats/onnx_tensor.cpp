//===- onnx_tensor.cpp - Tensors of ONNX files -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/onnx_tensor.h"
#include "runtime/formats/external_files.h"
#include "runtime/formats/foreign.h"
#include "runtime/formats/onnx.pb.h"
#include "runtime/formats/onnx_scan.h"
#include <climits>
#include <cstring>
#include <google/protobuf/io/coded_stream.h>

using namespace dist;

namespace {
struct TypeRow {
  int32_t onnx;
  DataType type;
  const char *name;
};
constexpr TypeRow kTypes[] = {
    {1, manifest::F32, "float"},     {2, manifest::U8, "uint8"},
    {3, manifest::I8, "int8"},       {4, manifest::U16, "uint16"},
    {5, manifest::I16, "int16"},     {6, manifest::I32, "int32"},
    {7, manifest::I64, "int64"},     {9, manifest::BOOL, "bool"},
    {10, manifest::F16, "float16"},  {11, manifest::F64, "double"},
    {12, manifest::U32, "uint32"},   {13, manifest::U64, "uint64"},
    {16, manifest::BF16, "bfloat16"}};
constexpr TypeRow kOtherTypes[] = {
    {8, manifest::DATA_TYPE_UNKNOWN, "string"},
    {14, manifest::DATA_TYPE_UNKNOWN, "complex64"},
    {15, manifest::DATA_TYPE_UNKNOWN, "complex128"},
    {17, manifest::DATA_TYPE_UNKNOWN, "float8e4m3fn"},
    {18, manifest::DATA_TYPE_UNKNOWN, "float8e4m3fnuz"},
    {19, manifest::DATA_TYPE_UNKNOWN, "float8e5m2"},
    {20, manifest::DATA_TYPE_UNKNOWN, "float8e5m2fnuz"},
    {21, manifest::DATA_TYPE_UNKNOWN, "uint4"},
    {22, manifest::DATA_TYPE_UNKNOWN, "int4"},
    {23, manifest::DATA_TYPE_UNKNOWN, "float4e2m1"},
    {24, manifest::DATA_TYPE_UNKNOWN, "float8e8m0"},
    {25, manifest::DATA_TYPE_UNKNOWN, "uint2"},
    {26, manifest::DATA_TYPE_UNKNOWN, "int2"}};

Status invalid(const std::string &what, const std::string &where,
               const std::string &why, const std::string &todo = "") {
  return Status::error(StatusCode::InvalidInput, what, where, why, todo);
}

/// Copies a typed field into bytes of the element type; false when the count
/// is not the tensor's.
template <typename To, typename Field>
bool convertField(const Field &field, size_t count, std::string *bytes) {
  if (static_cast<size_t>(field.size()) != count)
    return false;
  bytes->resize(count * sizeof(To));
  for (size_t i = 0; i < count; ++i) {
    To value = static_cast<To>(field.Get(static_cast<int>(i)));
    std::memcpy(bytes->data() + i * sizeof(To), &value, sizeof(To));
  }
  return true;
}

bool convertTyped(const onnx::TensorProto &tensor, DataType type, size_t count,
                  std::string *bytes) {
  switch (type) {
  case manifest::F32:
    return convertField<float>(tensor.float_data(), count, bytes);
  case manifest::F64:
    return convertField<double>(tensor.double_data(), count, bytes);
  case manifest::I64:
    return convertField<int64_t>(tensor.int64_data(), count, bytes);
  case manifest::U64:
    return convertField<uint64_t>(tensor.uint64_data(), count, bytes);
  case manifest::U32:
    return convertField<uint32_t>(tensor.uint64_data(), count, bytes);
  case manifest::I32:
    return convertField<int32_t>(tensor.int32_data(), count, bytes);
  case manifest::BOOL: {
    // Any bit counts, so that the byte is 0 or 1.
    if (static_cast<size_t>(tensor.int32_data_size()) != count)
      return false;
    bytes->clear();
    for (int32_t value : tensor.int32_data())
      bytes->push_back(value != 0);
    return true;
  }
  default:
    return byteSize(type) == 1
               ? convertField<uint8_t>(tensor.int32_data(), count, bytes)
               : convertField<uint16_t>(tensor.int32_data(), count, bytes);
  }
}

bool parseUnsigned(const std::string &text, uint64_t *out) {
  if (text.empty() || text.size() > 18)
    return false;
  *out = 0;
  for (char c : text) {
    if (c < '0' || c > '9')
      return false;
    *out = *out * 10 + static_cast<uint64_t>(c - '0');
  }
  return true;
}

bool parseMessage(std::string_view bytes, google::protobuf::Message *message) {
  if (bytes.size() > INT_MAX)
    return false;
  google::protobuf::io::CodedInputStream stream(
      reinterpret_cast<const uint8_t *>(bytes.data()),
      static_cast<int>(bytes.size()));
  return message->ParseFromCodedStream(&stream) &&
         stream.ConsumedEntireMessage();
}
} // namespace

DataType dist::fromOnnxType(int32_t type) {
  for (const TypeRow &row : kTypes)
    if (row.onnx == type)
      return row.type;
  return manifest::DATA_TYPE_UNKNOWN;
}

int32_t dist::toOnnxType(DataType type) {
  for (const TypeRow &row : kTypes)
    if (row.type == type)
      return row.onnx;
  return 0;
}

std::string dist::onnxTypeName(int32_t type) {
  for (const TypeRow &row : kTypes)
    if (row.onnx == type)
      return row.name;
  for (const TypeRow &row : kOtherTypes)
    if (row.onnx == type)
      return row.name;
  return "type " + std::to_string(type);
}

/// `left`: raw bytes that are not in the message, and who keeps them.
static Status takeElements(onnx::TensorProto &tensor, ExternalFiles *files,
                           const std::string &where, HostArray *out,
                           std::string_view left,
                           std::shared_ptr<const void> owner) {
  std::string what = "bad tensor";
  if (!tensor.name().empty())
    what += " '" + tensor.name() + "'";
  DataType type = fromOnnxType(tensor.data_type());
  if (type == manifest::DATA_TYPE_UNKNOWN)
    return invalid(what, where,
                   "elements of " + onnxTypeName(tensor.data_type()) +
                       " are not supported");
  if (tensor.has_segment())
    return invalid(what, where, "tensors in segments are not supported");
  std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  size_t bytes = 0;
  // Dims of a tensor with no elements are bounded too: others multiply them.
  std::vector<int64_t> withoutZeros;
  bool possible = shape.size() <= 64;
  for (int64_t dim : shape) {
    possible &= dim >= 0;
    if (dim != 0)
      withoutZeros.push_back(dim);
  }
  possible = possible && checkedBytes(withoutZeros, byteSize(type), &bytes) &&
             bytes <= size_t(1) << 44 &&
             checkedBytes(shape, byteSize(type), &bytes);
  if (!possible)
    return invalid(what, where, "impossible shape " + toString(shape));

  out->type = type;
  out->shape = shape;
  if (tensor.data_location() == 1) {
    if (!files)
      return invalid(what, where, "its data are in another file");
    std::string location;
    uint64_t offset = 0, length = bytes;
    for (const auto &entry : tensor.external_data()) {
      bool good = true;
      if (entry.key() == "location")
        location = entry.value();
      else if (entry.key() == "offset")
        good = parseUnsigned(entry.value(), &offset);
      else if (entry.key() == "length")
        good = parseUnsigned(entry.value(), &length);
      if (!good)
        return invalid(what, where,
                       "external data with " + entry.key() + " '" +
                           entry.value() + "'");
    }
    std::shared_ptr<const FileBytes> file;
    DIST_RETURN_IF_ERROR(files->open(location, where, &file));
    size_t size = file->bytes().size();
    if (length != bytes || offset > size || bytes > size - offset)
      return invalid(what, where,
                     "its " + std::to_string(bytes) + " bytes at " +
                         std::to_string(offset) + " are not in '" + location +
                         "' of " + std::to_string(size) + " bytes",
                     "is the file cut short?");
    out->data = file->bytes().data() + offset;
    out->owner = file;
    return {};
  }

  auto storage = std::make_shared<std::string>();
  if (left.data() || tensor.has_raw_data()) {
    size_t given = left.data() ? left.size() : tensor.raw_data().size();
    if (given != bytes)
      return invalid(what, where,
                     "has " + std::to_string(given) + " bytes, but its shape " +
                         toString(shape) + " needs " + std::to_string(bytes));
    // Any bit of a truth value counts, so its byte is made 0 or 1.
    if (left.data() && type != manifest::BOOL) {
      out->data = left.data();
      out->owner = std::move(owner);
      return {};
    }
    if (left.data())
      storage->assign(left);
    else
      storage->swap(*tensor.mutable_raw_data());
    if (type == manifest::BOOL)
      for (char &c : *storage)
        c = c != 0;
  } else if (!convertTyped(tensor, type, bytes / byteSize(type),
                           storage.get())) {
    return invalid(what, where,
                   "the number of its elements is not that of its shape " +
                       toString(shape));
  }
  out->data = storage->data();
  out->owner = storage;
  return {};
}

Status dist::takeOnnxTensor(onnx::TensorProto &tensor, ExternalFiles *files,
                            const std::string &where, HostArray *out) {
  return takeElements(tensor, files, where, out, {}, nullptr);
}

Status dist::takeOnnxInitializer(onnx::TensorProto &tensor, int number,
                                 const RawElements &raw, ExternalFiles *files,
                                 const std::string &where, HostArray *out) {
  auto found = raw.ofInitializer.find(number);
  if (found == raw.ofInitializer.end())
    return takeOnnxTensor(tensor, files, where, out);
  return takeElements(tensor, files, where, out, found->second, raw.owner);
}

Status dist::takeOnnxSparse(onnx::SparseTensorProto &sparse,
                            ExternalFiles *files, const std::string &where,
                            HostArray *out) {
  std::string what = "bad sparse tensor '" + sparse.values().name() + "'";
  HostArray values, indices;
  DIST_RETURN_IF_ERROR(
      takeOnnxTensor(*sparse.mutable_values(), files, where, &values));
  DIST_RETURN_IF_ERROR(
      takeOnnxTensor(*sparse.mutable_indices(), files, where, &indices));
  std::vector<int64_t> shape(sparse.dims().begin(), sparse.dims().end());
  int64_t rank = int64_t(shape.size());
  size_t bytes = 0;
  if (!checkedBytes(shape, byteSize(values.type), &bytes) ||
      bytes > size_t(INT_MAX))
    return invalid(what, where,
                   "its dense form " + toString(shape) + " is too large",
                   "give the model without it");
  int64_t count = elementCount(values.shape);
  bool numbered = indices.shape == std::vector<int64_t>{count};
  if (values.shape.size() != 1 || indices.type != manifest::I64 ||
      (!numbered && indices.shape != std::vector<int64_t>{count, rank}))
    return invalid(what, where,
                   "expected " + std::to_string(count) +
                       " int64 indices, one or " + std::to_string(rank) +
                       " numbers each, but got " + toString(indices.shape));
  auto storage = std::make_shared<std::string>(bytes, '\0');
  size_t size = byteSize(values.type);
  for (int64_t i = 0; i < count; ++i) {
    int64_t place = 0, part = 0;
    for (int64_t d = 0; d < (numbered ? 1 : rank); ++d) {
      int64_t limit = numbered ? int64_t(bytes / size) : shape[d];
      std::memcpy(&part,
                  indices.data + (numbered ? i : i * rank + d) * sizeof(part),
                  sizeof(part));
      if (part < 0 || part >= limit)
        return invalid(what, where,
                       "index " + std::to_string(part) + " is out of range");
      place = place * limit + part;
    }
    std::memcpy(storage->data() + place * size, values.data + i * size, size);
  }
  out->type = values.type;
  out->shape = std::move(shape);
  out->data = storage->data();
  out->owner = storage;
  return {};
}

Status dist::parseOnnxTensor(std::string_view bytes, const std::string &where,
                             std::string *name, HostArray *out) {
  onnx::TensorProto tensor;
  if (!parseMessage(bytes, &tensor) || tensor.data_type() == 0)
    return invalid("cannot read a tensor", where,
                   "it is no NumPy array (.npy) and no ONNX TensorProto (.pb)");
  if (name)
    *name = tensor.name();
  return takeOnnxTensor(tensor, nullptr, where, out);
}

Status dist::parseOnnxModel(std::string_view bytes, const std::string &where,
                            onnx::ModelProto *out, RawElements *raw,
                            OnnxFunctionOfNode *functionOf) {
  if (bytes.size() > INT_MAX)
    return invalid("cannot read the model", where,
                   "Protocol Buffers end at 2 GiB",
                   "save it with external data");
  if (bytes.empty())
    return invalid("cannot read the model", where, "the file is empty");
  DIST_RETURN_IF_ERROR(checkForeignFile(bytes, where));
  std::string rest;
  bool scanned = raw && leaveRawElements(bytes, &rest, raw);
  if (!parseMessage(scanned ? std::string_view(rest) : bytes, out))
    return invalid("cannot read the model", where,
                   "neither ONNX nor another known form, or damaged",
                   "check that the file is complete");
  if (!out->has_graph() || out->opset_import_size() == 0)
    return invalid("cannot read the model", where,
                   "not an ONNX model: no graph or no opset",
                   "convert the model to ONNX");
  return inlineOnnxFunctions(out, where, functionOf);
}
