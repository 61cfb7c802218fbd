//===- types.h - Element types and tensor views -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_TYPES_H
#define RUNTIME_CORE_TYPES_H

#include "runtime/core/manifest.pb.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dist {

using manifest::DataType;

/// Bytes of one element (bool: 1).
size_t byteSize(DataType type);
/// "f32", "i64", "bool", ...
const char *name(DataType type);
/// Product of the dims (1 for a scalar).
int64_t elementCount(const std::vector<int64_t> &shape);
std::string toString(const std::vector<int64_t> &shape);

/// A dense row-major tensor somebody else owns.
struct TensorView {
  DataType type = manifest::DATA_TYPE_UNKNOWN;
  std::vector<int64_t> shape;
  const void *data = nullptr;
  size_t bytes() const { return byteSize(type) * elementCount(shape); }
};

/// A dense row-major tensor with its own memory.
struct Tensor {
  DataType type = manifest::DATA_TYPE_UNKNOWN;
  std::vector<int64_t> shape;
  std::vector<char> data;
  TensorView view() const { return {type, shape, data.data()}; }
};

} // namespace dist

#endif // RUNTIME_CORE_TYPES_H
