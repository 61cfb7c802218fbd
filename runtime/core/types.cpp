//===- types.cpp - Element types ------------------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/types.h"
#include <algorithm>

namespace dist {

size_t byteSize(DataType type) {
  switch (type) {
  case manifest::F64:
  case manifest::I64:
  case manifest::U64:
    return 8;
  case manifest::F32:
  case manifest::I32:
  case manifest::U32:
    return 4;
  case manifest::F16:
  case manifest::BF16:
  case manifest::I16:
  case manifest::U16:
    return 2;
  case manifest::BOOL:
  case manifest::I8:
  case manifest::U8:
    return 1;
  default:
    return 0;
  }
}

bool isUnsigned(DataType type) {
  return type == manifest::U8 || type == manifest::U16 ||
         type == manifest::U32 || type == manifest::U64;
}

const char *name(DataType type) {
  static const char *const names[] = {"unknown", "f32", "f64", "f16", "bf16",
                                      "bool",    "i8",  "i16", "i32", "i64",
                                      "u8",      "u16", "u32", "u64"};
  return type >= 0 && type <= manifest::U64 ? names[type] : names[0];
}

int64_t elementCount(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  return count;
}

std::vector<int64_t> shapeOf(const manifest::TensorType &type) {
  return {type.shape().begin(), type.shape().end()};
}

size_t byteSize(const manifest::TensorType &type) {
  return byteSize(type.type()) * elementCount(shapeOf(type));
}

bool isSameType(const manifest::TensorType &a, const manifest::TensorType &b) {
  return a.type() == b.type() && std::equal(a.shape().begin(), a.shape().end(),
                                            b.shape().begin(), b.shape().end());
}

Tensor makeZeros(const manifest::TensorType &type) {
  Tensor zeros;
  zeros.type = type.type();
  zeros.shape = shapeOf(type);
  zeros.data.assign(byteSize(type), 0);
  return zeros;
}

std::string toString(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

} // namespace dist
